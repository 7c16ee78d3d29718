/**
 * Lists the API keys of a tenant, without the secret keys themselves.
 *
 * See docs/reference/operators.md.
 */

import type { ApiKeyView } from "../../domain/access/access.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Engine } from "../../kv/engine.ts";
import { listApiKeyRecords, viewApiKey } from "../../store/access/api_keys.ts";

/** Oldest first. An expired key is listed until it is revoked for good. */
export async function listApiKeys(
  engine: Engine,
  tenant: Tenant,
): Promise<readonly ApiKeyView[]> {
  const records = await engine.snapshot((tx) => listApiKeyRecords(tx, tenant.number));
  return records.map(viewApiKey);
}
