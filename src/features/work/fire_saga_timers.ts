/**
 * Tells sagas that their time is over. If that fails, the timer is tried again after growing
 * pauses.
 */

import { retryPauseMs } from "../../domain/reaction/outbox_entry.ts";
import type { Host } from "../../host.ts";
import type { Timer } from "../../store/timers.ts";
import type { SagaAdvancer } from "../sagas/advance_sagas.ts";
import { isOutage } from "../../domain/outage.ts";
import type { SagaLanes } from "../reactions/saga_lanes.ts";

/** Returns how many of the timers are done or were postponed. Throws only outages. */
export type SagaTimers = (timers: readonly Timer[]) => Promise<number>;

export function openSagaTimers(host: Host, sagas: SagaAdvancer, lanes: SagaLanes): SagaTimers {
  async function fireOne(timer: Timer): Promise<boolean> {
    try {
      return await lanes.move(timer.tenant, { kind: "timer", timer });
    } catch (error) {
      if (isOutage(error)) throw error;
      await putOff(timer, error);
      return true;
    }
  }

  async function putOff(timer: Timer, error: unknown): Promise<void> {
    const { tenant, id } = timer;
    const reason = error instanceof Error ? error.message : String(error);
    const share = host.randomBytes(1)[0]! / 256;
    const tries = await sagas.postpone(timer, reason, (tries) => retryPauseMs(tries, share));
    const fields = { tenant, saga_id: id, tries, reason };
    host.log("error", "A saga could not be told that its time is over", fields);
  }

  return async (timers) => {
    const results = await Promise.allSettled(timers.map(fireOne));
    for (const result of results) if (result.status === "rejected") throw result.reason;
    return results.filter((result) => result.status === "fulfilled" && result.value).length;
  };
}
