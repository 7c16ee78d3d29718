/** The pauses between tries of deliveries are over: their lanes are marked, for a try is due. */

import type { Engine } from "../kv/engine.ts";
import { laneOfTimer, markLane, signalLanes } from "../store/deliveries.ts";
import { clearTimer, type Timer } from "../store/timers.ts";
import type { OwnLanes } from "./append_deliveries.ts";

/** Gives how many that were. A mark that is not needed any more is found out where it leads. */
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
