/** Requests to erase streams, to look at. EXT `GET /_admin/tombstones` and its ids. */

import {
  type TombstonePage,
  type TombstoneView,
  viewTombstone,
} from "../domain/erasure/tombstone.ts";
import { limits } from "../domain/limits.ts";
import { accept, type Outcome, refuse } from "../domain/refusal.ts";
import type { Tenant } from "../domain/tenant.ts";
import type { Engine } from "../kv/engine.ts";
import { listTombstones as listRecords, readTombstone as readRecord } from "../store/tombstones.ts";

/** Longer names nothing. */
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

/** The newest first. */
export async function listTombstones(
  engine: Engine,
  tenant: Tenant,
  request: { readonly limit?: number; readonly start?: string },
): Promise<Outcome<TombstonePage>> {
  const { start } = request;
  if (start !== undefined && start.length > ID_CHARACTERS_MAX) {
    const message = `start must be at most ${ID_CHARACTERS_MAX} characters`;
    return refuse({ kind: "bad_request", message, path: "start" });
  }
  const asked = request.limit ?? limits.listPageDefault;
  const limit = Math.min(asked, limits.listPageMax);
  // One more than the page tells exactly whether anything follows it.
  const found = await engine.snapshot((tx) =>
    listRecords(tx, tenant.number, { start, limit: limit + 1 })
  );
  const data = found.slice(0, limit).map(viewTombstone);
  const truncated = found.length > limit;
  return accept({
    data,
    limit,
    truncated,
    next_start: truncated ? data.at(-1)!.id : undefined,
    limit_clamped: asked > limit ? true : undefined,
  });
}
