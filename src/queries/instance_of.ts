/**
 * Which instance a tenant number belongs to: all environments of an instance share its turns among
 * the WebAssembly modules of a process, and what it may deliver at a time.
 */

import type { Engine } from "../kv/engine.ts";
import { listInstances } from "../store/instances.ts";

/** Numbers are never reused, so what is known stays true. */
export function openInstanceNames(engine: Engine): (tenant: number) => string | Promise<string> {
  const known = new Map<number, string>();

  async function look(tenant: number): Promise<string> {
    for (const { id, tenants } of await engine.snapshot((tx) => listInstances(tx))) {
      for (const number of Object.values(tenants)) known.set(number, id);
    }
    // Replaced by an import since: it has a turn of its own for as long as it is still asked for.
    if (!known.has(tenant)) known.set(tenant, `tenant ${tenant}`);
    return known.get(tenant)!;
  }

  return (tenant) => known.get(tenant) ?? look(tenant);
}
