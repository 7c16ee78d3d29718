/** Marks the lanes of deliveries whose retry pause is over. */

import type { Engine } from "../../kv/engine.ts";
import { laneOfTimer, markLane, signalLanes } from "../../store/listeners/deliveries.ts";
import { clearTimer, type Timer } from "../../store/timers.ts";
import type { OwnLanes } from "../writes/append_deliveries.ts";

/**
 * Returns the number of timers. A mark that is no longer needed is noticed by whoever works the
 * lane.
 */
export async function fireDeliveryTimers(
  engine: Engine,
  lanes: OwnLanes,
  timers: readonly Timer[],
): Promise<number> {
  if (timers.length === 0) return 0;
  const marked = timers.map(laneOfTimer);
  await engine.transact((tx) => {
    for (const timer of timers) clearTimer(tx, timer);
    for (const lane of marked) markLane(tx, lane);
    if (!marked.every(lanes.isOwn)) signalLanes(tx);
    return Promise.resolve();
  });
  lanes.offer(marked);
  return timers.length;
}
