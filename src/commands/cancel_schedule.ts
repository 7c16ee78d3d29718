/** Cancels a scheduled event that has not fired. EXT `DELETE /_scheduled/{id}`. */

import { accept, type Outcome } from "../domain/refusal.ts";
import type { Tenant } from "../domain/tenant.ts";
import type { Engine } from "../kv/engine.ts";
import { findPending, refuseSchedule } from "../queries/list_schedules.ts";
import { removeSchedule } from "../store/schedules.ts";

/** From the answer on it never fires. `not_found` where it has fired or was cancelled. */
export async function cancelSchedule(
  engine: Engine,
  tenant: Tenant,
  id: string,
): Promise<Outcome<void>> {
  return await engine.transact(async (tx) => {
    const record = await findPending(tx, tenant.number, id);
    if (record === undefined) return refuseSchedule();
    removeSchedule(tx, tenant.number, record);
    return accept(undefined);
  });
}
