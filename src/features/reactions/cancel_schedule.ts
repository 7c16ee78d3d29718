/**
 * Cancels a scheduled event that has not fired: `DELETE /_scheduled/{id}`. See
 * docs/reference/reactions.md.
 */

import { accept, type Outcome } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Engine } from "../../kv/engine.ts";
import { findPending, refuseSchedule } from "./list_schedules.ts";
import { removeSchedule } from "../../store/reactions/schedules.ts";

/**
 * Once this resolves, the event never fires. Refuses with `not_found` if it has fired or was
 * cancelled.
 */
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
