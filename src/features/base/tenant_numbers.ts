/** Finds the tenant of a tenant number, for work that is found by its keys. */

import { ENVIRONMENTS, type Tenant } from "../../domain/tenant.ts";
import type { Engine } from "../../kv/engine.ts";
import { listInstances, tenantOf } from "../../store/access/instances.ts";

export interface TenantNumbers {
  /** Undefined if the number belongs to no environment. */
  find(number: number): Promise<Tenant | undefined>;
  /** The same if an earlier look has found it; undefined does not mean that there is none. */
  known(number: number): Tenant | undefined;
}

const INSTANCES_PAGE = 200;

/** A number never names another environment, so entries stay valid. */
export function openTenantNumbers(engine: Engine): TenantNumbers {
  const known = new Map<number, Tenant>();
  /** For all who ask meanwhile. */
  let looking: Promise<void> | undefined;

  function look(): Promise<void> {
    looking ??= readAll().finally(() => looking = undefined);
    return looking;
  }

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
      // A look that is under way may have passed by a new instance, so one more may follow it.
      if (!known.has(number)) await looking;
      if (!known.has(number)) await look();
      return known.get(number);
    },
    known: (number) => known.get(number),
  };
}
