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
  const known = new Map<number, string>();
  const tenants = openTenantNumbers(engine);

  async function look(tenant: number): Promise<string> {
    const found = await tenants.find(tenant);
    // A transfer has replaced a tenant that is not there; it gets a turn of its own while callers
    // still ask for it.
    const name = found?.instanceId ?? `tenant ${tenant}`;
    known.set(tenant, name);
    return name;
  }

  return (tenant) => known.get(tenant) ?? look(tenant);
}
