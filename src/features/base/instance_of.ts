/**
 * Finds the instance that a tenant number belongs to.
 *
 * All environments of an instance share its turns among the WebAssembly modules of a process,
 * and its limit of concurrent deliveries.
 */

import type { Engine } from "../../kv/engine.ts";
import { openTenantNumbers } from "./tenant_numbers.ts";

/** Tenant numbers are never reused, so entries stay valid. */
export function openInstanceNames(engine: Engine): (tenant: number) => string | Promise<string> {
  const tenants = openTenantNumbers(engine);
  /** Those that a transfer has replaced: each has turns of its own while callers ask for it. */
  const gone = new Map<number, string>();

  async function look(tenant: number): Promise<string> {
    const found = await tenants.find(tenant);
    if (found !== undefined) return found.instanceId;
    const name = `tenant ${tenant}`;
    gone.set(tenant, name);
    return name;
  }

  return (tenant) => tenants.known(tenant)?.instanceId ?? gone.get(tenant) ?? look(tenant);
}
