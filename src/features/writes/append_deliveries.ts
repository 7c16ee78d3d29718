/**
 * Puts the deliveries of written events into their lanes, in the transaction of the events.
 * Once that has committed, the lanes are offered to this process, which sends at once. See
 * docs/reference/listeners.md.
 */

import type { Steps } from "../../domain/fairness/pieces.ts";
import type { Lane } from "../../domain/listener/delivery.ts";
import type { Engine, Transaction } from "../../kv/engine.ts";
import {
  laneOfTimer,
  markLane,
  putDelivery,
  signalLanes,
} from "../../store/listeners/deliveries.ts";
import { clearTimer, type Timer } from "../../store/timers.ts";
import type { PreparedTarget } from "./prepared_write.ts";

/** The lanes that this process works on. */
export interface OwnLanes {
  /**
   * Whether this process works on the lane now. For all others, the other processes need a
   * signal.
   */
  isOwn(lane: Lane): boolean;
  /**
   * Says that these lanes may have something due. Lanes that are not this process's are
   * ignored.
   */
  offer(lanes: Iterable<Lane>): void;
}

/** For a process that does not deliver. */
export const NO_OWN_LANES: OwnLanes = { isOwn: () => false, offer: () => {} };

/** Deliveries that are added in one step. */
const DELIVERIES_PER_STEP = 32;

/** Call it for a target with deliveries. `first` is the index of its first event. */
export function* appendDeliverySteps(
  tx: Transaction,
  tenant: number,
  { key: stream, deliveries }: PreparedTarget,
  first: number,
  lanes: OwnLanes,
): Steps<void> {
  const marked = new Set<string>();
  let isOwn = true;
  for (const [number, { offset, listener, value }] of deliveries!.entries()) {
    if (number > 0 && number % DELIVERIES_PER_STEP === 0) yield;
    const lane = { tenant, listener, stream };
    putDelivery(tx, lane, first + offset, value);
    if (marked.has(listener)) continue;
    marked.add(listener);
    markLane(tx, lane);
    isOwn &&= lanes.isOwn(lane);
  }
  if (!isOwn) signalLanes(tx);
}

/** Offers the lanes that a committed transaction has put the deliveries of a target into. */
export function offerDeliveries(
  lanes: OwnLanes,
  tenant: number,
  { key: stream, deliveries }: PreparedTarget,
): void {
  const listeners = new Set(deliveries!.map(({ listener }) => listener));
  lanes.offer([...listeners].map((listener) => ({ tenant, listener, stream })));
}

/**
 * Marks the lanes of deliveries whose retry pause is over; returns the number of timers. Whoever
 * works a lane notices a mark that is no longer needed.
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
