/**
 * Tells sagas that their time is over. A timer belongs to its saga and cannot be moved, so one that
 * fails is left alone for a while by this process.
 */

import { limits } from "../domain/limits.ts";
import { retryPauseMs } from "../domain/reaction/outbox_entry.ts";
import type { Host } from "../host.ts";
import type { Timer } from "../store/timers.ts";
import { isOutage } from "./combine.ts";
import type { SagaLanes } from "./saga_lanes.ts";

export interface SagaTimers {
  /** Gives how many of them are over. Throws outages alone. */
  fire(timers: readonly Timer[]): Promise<number>;
  /** How many are left alone. */
  failing(): number;
}

interface Failure {
  readonly tries: number;
  readonly untilMs: number;
}

/** More would be told again too early, which is no harm. */
const FAILURES_MAX = 1_000;

export function openSagaTimers(lanes: SagaLanes, host: Host): SagaTimers {
  const failures = new Map<string, Failure>();

  async function fire(timers: readonly Timer[]): Promise<number> {
    const nowMs = host.nowMs();
    const ready = timers.filter((timer) => (failures.get(nameOf(timer))?.untilMs ?? 0) <= nowMs);
    const results = await Promise.allSettled(ready.map(fireOne));
    for (const result of results) if (result.status === "rejected") throw result.reason;
    return results.filter((result) => result.status === "fulfilled" && result.value).length;
  }

  async function fireOne(timer: Timer): Promise<boolean> {
    try {
      const isDone = await lanes.move(timer.tenant, { kind: "timer", timer });
      failures.delete(nameOf(timer));
      return isDone;
    } catch (error) {
      if (isOutage(error)) throw error;
      noteFailure(timer, error);
      return false;
    }
  }

  function noteFailure(timer: Timer, error: unknown): void {
    const { tenant, id } = timer;
    const name = nameOf(timer);
    const tries = Math.min((failures.get(name)?.tries ?? 0) + 1, limits.reactionTriesMax);
    const reason = error instanceof Error ? error.message : String(error);
    host.log("error", "A saga could not be told that its time is over", {
      tenant,
      saga_id: id,
      tries,
      reason,
    });
    const untilMs = host.nowMs() + retryPauseMs(tries, 0);
    failures.delete(name);
    failures.set(name, { tries, untilMs });
    if (failures.size > FAILURES_MAX) failures.delete(failures.keys().next().value!);
  }

  return { fire, failing: () => failures.size };
}

function nameOf({ tenant, id, dueMs }: Timer): string {
  return `${tenant}/${id}/${dueMs}`;
}
