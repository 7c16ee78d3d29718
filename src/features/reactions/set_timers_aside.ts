/** Sets due timers of paused environments aside, and puts them back on resume. */

import type { Engine } from "../../kv/engine.ts";
import type { PausedReactions } from "./follow_pauses.ts";
import { putAside, putBack } from "../../store/reactions/paused_reactions.ts";
import type { Timer } from "../../store/timers.ts";

/** Timers that one transaction moves. */
const AT_A_TIME = 500;
const NONE: ReadonlySet<Timer> = new Set();

/**
 * Sets aside the timers whose environment is paused, and returns them. The others fire as
 * usual.
 */
export async function putTimersAside(
  engine: Engine,
  paused: PausedReactions,
  due: readonly Timer[],
): Promise<ReadonlySet<Timer>> {
  const found = due.filter(({ tenant, kind }) =>
    (kind === "scheduled" || kind === "saga") && paused.isPaused(tenant)
  );
  if (found.length === 0) return NONE;
  for (const tenant of new Set(found.map(({ tenant }) => tenant))) {
    const own = found.filter((timer) => timer.tenant === tenant);
    for (let at = 0; at < own.length; at += AT_A_TIME) {
      await engine.transact((tx) => putAside(tx, tenant, own.slice(at, at + AT_A_TIME)));
    }
  }
  return new Set(found);
}

/** Puts back the next timers of each environment that is resuming. Returns how many. */
export async function returnTimers(
  engine: Engine,
  paused: PausedReactions,
): Promise<number> {
  let returned = 0;
  for (const tenant of paused.resuming()) {
    returned += await engine.transact((tx) => putBack(tx, tenant, AT_A_TIME));
  }
  return returned;
}
