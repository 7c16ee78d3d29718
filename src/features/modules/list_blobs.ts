/** Lists the versions of all blobs of an environment: `GET /_admin/blobs`. */

import { cutPage, type ListPage, pageLimit } from "../../domain/list_page.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import { type BlobVersion, parseReference, referenceText } from "../../domain/wasm/blob.ts";
import type { Engine } from "../../kv/engine.ts";
import { listBlobs as listStored } from "../../store/blobs.ts";

export type BlobPage = ListPage<BlobVersion>;

/** Sorted by name and version. `start` is a pinned version: `<name>:v<N>`. */
export async function listBlobs(
  engine: Engine,
  tenant: Tenant,
  page: { readonly limit?: number; readonly start?: string },
): Promise<Outcome<BlobPage>> {
  const { limit, start } = page;
  const after = start === undefined ? undefined : parseReference(start);
  if (start !== undefined && after?.version === undefined) {
    return refuse({ kind: "bad_request", path: "start", message: "start must be <name>:v<N>" });
  }
  const cursor = after && { name: after.name, version: after.version! };
  const found = await engine.snapshot((tx) =>
    listStored(tx, tenant.number, pageLimit(limit) + 1, cursor)
  );
  return accept(cutPage(found, limit, referenceText));
}
