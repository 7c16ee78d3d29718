/**
 * Meters a transaction's events against the plan; only clients' writes are ever refused. All
 * events count. See docs/reference/limits.md.
 */

import { assert } from "../../domain/assert.ts";
import { monthEnd, monthOf, type PlanUsage } from "../../domain/limits/plan.ts";
import { type Outcome, refuse } from "../../domain/refusal.ts";
import type { Transaction } from "../../kv/engine.ts";
import { countUsage, readUsage } from "../../store/usage.ts";
import type { PreparedWrite } from "./prepared_write.ts";

export interface EventMeter {
  /** Returns a refusal if the month's remaining events do not suffice for the write. */
  refuse(write: PreparedWrite): Outcome<never> | undefined;
  /** Notes events that a write has placed. Returns the usage if there is a limit. */
  note(write: PreparedWrite, events: number): PlanUsage | undefined;
  /** Counts everything that was noted. Call it once. */
  flush(tx: Transaction): void;
}

/**
 * Reads the usage only if a write has a limit, and reads it unguarded. So concurrent writes do
 * not see each other's events and may exceed the limit by that many.
 */
export async function openMeter(
  tx: Transaction,
  tenant: number,
  writes: readonly PreparedWrite[],
): Promise<EventMeter> {
  const [first] = writes;
  assert(first !== undefined, "a transaction has a write");
  const month = monthOf(first.nowMs);
  const isLimited = writes.some(({ allocation }) => allocation !== undefined);
  let used = isLimited ? await readUsage(tx.unguarded, tenant, month) : 0;
  let noted = 0;

  return {
    refuse({ allocation: limit, targets }) {
      if (limit === undefined) return undefined;
      const events = targets.reduce((sum, target) => sum + target.events.length, 0);
      if (used + events <= limit) return undefined;
      return refuse({
        kind: "plan_limit",
        usage: used,
        limit,
        events,
        resetsAt: monthEnd(month),
      });
    },
    note({ allocation }, events) {
      noted += events;
      used += events;
      return allocation === undefined ? undefined : { usage: used, limit: allocation };
    },
    flush(tx) {
      if (noted > 0) countUsage(tx, tenant, month, noted, first.targets[0]!.key);
    },
  };
}
