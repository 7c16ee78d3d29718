/** The versions of all blobs of an environment. EXT `GET /_admin/blobs`. */

import { limits } from "../domain/limits.ts";
import { accept, type Outcome, refuse } from "../domain/refusal.ts";
import type { Tenant } from "../domain/tenant.ts";
import { type BlobVersion, parseReference, referenceText } from "../domain/wasm/blob.ts";
import type { Engine } from "../kv/engine.ts";
import { listBlobs as listStored } from "../store/blobs.ts";

export interface BlobPage {
  readonly data: readonly BlobVersion[];
  readonly limit: number;
  readonly truncated: boolean;
  readonly next_start?: string;
  readonly limit_clamped?: true;
}

/** In the order of names and versions. `start` is a version as it is pinned: `<name>:v<N>`. */
export async function listBlobs(
  engine: Engine,
  tenant: Tenant,
  page: { readonly limit?: number; readonly start?: string },
): Promise<Outcome<BlobPage>> {
  const { limit: asked = limits.listPageDefault, start } = page;
  const after = start === undefined ? undefined : parseReference(start);
  if (start !== undefined && after?.version === undefined) {
    return refuse({ kind: "bad_request", path: "start", message: "start must be <name>:v<N>" });
  }
  const limit = Math.min(asked, limits.listPageMax);
  const cursor = after && { name: after.name, version: after.version! };
  const found = await engine.snapshot((tx) => listStored(tx, tenant.number, limit + 1, cursor));
  const data = found.slice(0, limit);
  const truncated = found.length > limit;
  return accept({
    data,
    limit,
    truncated,
    ...(truncated && { next_start: referenceText(data.at(-1)!) }),
    ...(limit < asked && { limit_clamped: true as const }),
  });
}
