/** A page of error records, newest first: `GET /_errors`. */

import type { ErrorPage, ErrorRecord } from "../../domain/error_record.ts";
import { checkStart, cutPage, pageLimit } from "../../domain/list_page.ts";
import { accept, type Outcome } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";

/** The source of records; see `record_error.ts`. */
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
  const { start, limit } = request;
  const checked = checkStart(start, ID_CHARACTERS_MAX);
  if (!checked.ok) return checked;
  const found = await list(tenant, { start, limit: pageLimit(limit) + 1 });
  return accept(cutPage(found, limit, ({ error_id }) => error_id));
}
