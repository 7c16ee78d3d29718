/** Finds the tenant of a tenant number, for work that is found by its keys. */

import { ENVIRONMENTS, type Tenant } from "../../domain/tenant.ts";
import type { Engine } from "../../kv/engine.ts";
import { listInstances, tenantOf } from "../../store/access/instances.ts";

export interface TenantNumbers {
  /** Undefined if the number belongs to no environment. */
  find(number: number): Promise<Tenant | undefined>;
}

const INSTANCES_PAGE = 200;

/** A number never names another environment, so entries stay valid. */
export function openTenantNumbers(engine: Engine): TenantNumbers {
  const known = new Map<number, Tenant>();

  async function readAll(): Promise<void> {
    let after: string | undefined;
    for (;;) {
      const page = await engine.snapshot((tx) => listInstances(tx, INSTANCES_PAGE, after));
      for (const instance of page) {
        for (const environment of ENVIRONMENTS) {
          const tenant = tenantOf(instance, environment);
          known.set(tenant.number, tenant);
        }
      }
      if (page.length < INSTANCES_PAGE) return;
      after = page.at(-1)!.id;
    }
  }

  return {
    async find(number) {
      if (!known.has(number)) await readAll();
      return known.get(number);
    },
  };
}
