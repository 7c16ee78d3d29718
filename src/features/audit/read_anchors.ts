/** Reads anchors and the public keys that signed them. See docs/reference/audit.md. */

import { cutPage, type ListPage, pageLimit } from "../../domain/list_page.ts";
import type { InstanceAnchor } from "../../domain/audit/anchor.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Engine } from "../../kv/engine.ts";
import {
  listAnchors as listNumbered,
  readAnchor as readNumbered,
} from "../../store/audit/anchors.ts";
import { listSigningKeys } from "../../store/audit/signing_keys.ts";

/** The public half of a signing key. */
export interface PublicKey {
  /** 32 bytes as lowercase hex. */
  readonly public_key: string;
  /** ISO 8601 UTC. */
  readonly created_at: string;
}

export type AnchorPage = ListPage<InstanceAnchor>;

/** Longer than any anchor id. */
const ID_CHARACTERS_MAX = 64;

/** With `id` undefined: the newest anchor. */
export async function readAnchor(
  engine: Engine,
  tenant: Tenant,
  id: string | undefined,
): Promise<Outcome<InstanceAnchor>> {
  if (id !== undefined && id.length > ID_CHARACTERS_MAX) {
    return refuse({ kind: "anchor_not_found" });
  }
  const found = await engine.snapshot((tx) => readNumbered(tx, tenant.number, id));
  return found === undefined ? refuse({ kind: "anchor_not_found" }) : accept(found.anchor);
}

/** `start`: the id of an anchor; the page holds older ones. */
export async function listAnchors(
  engine: Engine,
  tenant: Tenant,
  page: { readonly limit?: number; readonly start?: string },
): Promise<Outcome<AnchorPage>> {
  const { start, limit } = page;
  if (start !== undefined && start.length > ID_CHARACTERS_MAX) return badStart();
  const found = await engine.snapshot(async (tx) => {
    const from = start === undefined ? undefined : await readNumbered(tx, tenant.number, start);
    if (start !== undefined && from === undefined) return undefined;
    return await listNumbered(tx, tenant.number, {
      before: from?.number,
      limit: pageLimit(limit) + 1,
    });
  });
  if (found === undefined) return badStart();
  return accept(cutPage(found.map(({ anchor }) => anchor), limit, ({ id }) => id));
}

function badStart() {
  const message = "start must be the id of an anchor, as a listing gives it";
  return refuse({ kind: "bad_request", message, path: "start" });
}

/** All keys of the instance; the last one is the current key. */
export async function listPublicKeys(engine: Engine, tenant: Tenant): Promise<PublicKey[]> {
  const keys = await engine.snapshot((tx) => listSigningKeys(tx, tenant.instanceId));
  return keys.map(({ public_key, created_at }) => ({ public_key, created_at }));
}
