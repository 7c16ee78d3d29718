/**
 * Finds the instance that a tenant number belongs to.
 *
 * All environments of an instance share its turns among the WebAssembly modules of a process,
 * and its limit of concurrent deliveries.
 */

import type { Engine } from "../../kv/engine.ts";
import { listInstances } from "../../store/access/instances.ts";

/** Tenant numbers are never reused, so entries stay valid. */
export function openInstanceNames(engine: Engine): (tenant: number) => string | Promise<string> {
  const known = new Map<number, string>();

  async function look(tenant: number): Promise<string> {
    for (const { id, tenants } of await engine.snapshot((tx) => listInstances(tx))) {
      for (const number of Object.values(tenants)) known.set(number, id);
    }
    // A transfer has replaced this tenant; it gets a turn of its own while callers still ask
    // for it.
    if (!known.has(tenant)) known.set(tenant, `tenant ${tenant}`);
    return known.get(tenant)!;
  }

  return (tenant) => known.get(tenant) ?? look(tenant);
}
