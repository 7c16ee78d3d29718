/** Reads requests to erase streams: `GET /_admin/tombstones`, and one by its id. */

import {
  type TombstonePage,
  type TombstoneView,
  viewTombstone,
} from "../../domain/erasure/tombstone.ts";
import { checkStart, cutPage, pageLimit } from "../../domain/list_page.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Engine } from "../../kv/engine.ts";
import {
  listTombstones as listRecords,
  readTombstone as readRecord,
} from "../../store/tombstones.ts";

/** Longer than any id. */
const ID_CHARACTERS_MAX = 64;

export function refuseTombstone() {
  const message = "There is no such request to erase a stream";
  return refuse({ kind: "not_found", message });
}

export async function readTombstone(
  engine: Engine,
  tenant: Tenant,
  id: string,
): Promise<Outcome<TombstoneView>> {
  if (id.length > ID_CHARACTERS_MAX) return refuseTombstone();
  const found = await engine.snapshot((tx) => readRecord(tx, tenant.number, id));
  return found === undefined ? refuseTombstone() : accept(viewTombstone(found));
}

/** Newest first. */
export async function listTombstones(
  engine: Engine,
  tenant: Tenant,
  request: { readonly limit?: number; readonly start?: string },
): Promise<Outcome<TombstonePage>> {
  const { start, limit } = request;
  const checked = checkStart(start, ID_CHARACTERS_MAX);
  if (!checked.ok) return checked;
  const found = await engine.snapshot((tx) =>
    listRecords(tx, tenant.number, { start, limit: pageLimit(limit) + 1 })
  );
  return accept(cutPage(found.map(viewTombstone), limit, ({ id }) => id));
}
