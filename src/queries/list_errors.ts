/** A page of error records, newest first. EXT `GET /_errors`. */

import type { ErrorPage, ErrorRecord } from "../domain/error_record.ts";
import { limits } from "../domain/limits.ts";
import { accept, type Outcome, refuse } from "../domain/refusal.ts";
import type { Tenant } from "../domain/tenant.ts";

/** What gives records; see `record_error.ts`. */
type Lister = (
  tenant: Tenant,
  page: { readonly start?: string; readonly limit: number },
) => Promise<ErrorRecord[]>;

/** Longer than any id. */
const ID_CHARACTERS_MAX = 64;

export async function listErrors(
  list: Lister,
  tenant: Tenant,
  request: { readonly limit?: number; readonly start?: string },
): Promise<Outcome<ErrorPage>> {
  const { start } = request;
  if (start !== undefined && start.length > ID_CHARACTERS_MAX) {
    const message = `start must be at most ${ID_CHARACTERS_MAX} characters`;
    return refuse({ kind: "bad_request", message, path: "start" });
  }
  const asked = request.limit ?? limits.listPageDefault;
  const limit = Math.min(asked, limits.listPageMax);
  const found = await list(tenant, { start, limit: limit + 1 });
  const data = found.slice(0, limit);
  const truncated = found.length > limit;
  return accept({
    data,
    limit,
    truncated,
    next_start: truncated ? data.at(-1)!.error_id : undefined,
    limit_clamped: asked > limit ? true : undefined,
  });
}
