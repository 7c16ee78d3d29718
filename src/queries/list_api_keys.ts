/** The API keys of a tenant, never the keys themselves. Spec: "Operator endpoints". */

import type { ApiKeyView } from "../domain/access.ts";
import type { Tenant } from "../domain/tenant.ts";
import type { Engine } from "../kv/engine.ts";
import { listApiKeyRecords, viewApiKey } from "../store/api_keys.ts";

/** Oldest first. Keys whose end has come are listed until they are revoked for good. */
export async function listApiKeys(
  engine: Engine,
  tenant: Tenant,
): Promise<readonly ApiKeyView[]> {
  const records = await engine.snapshot((tx) => listApiKeyRecords(tx, tenant.number));
  return records.map(viewApiKey);
}
