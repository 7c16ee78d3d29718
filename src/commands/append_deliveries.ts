/**
 * Puts the deliveries of written events into their lanes, in the transaction of the events, and
 * offers those lanes to this process once that has committed: so what was written is sent at once.
 * Decisions, section 14.
 */

import type { Lane } from "../domain/listener/delivery.ts";
import type { Outcome } from "../domain/refusal.ts";
import type { Written } from "../domain/write.ts";
import type { Transaction } from "../kv/engine.ts";
import { markLane, putDelivery, signalLanes } from "../store/deliveries.ts";
import { NOTHING_WRITTEN, type PreparedTarget, type PreparedWrite } from "./prepared_write.ts";

/** The lanes that this process works in. */
export interface OwnLanes {
  /** Whether a lane is this process's by now; others must be told of all that are not. */
  isOwn(lane: Lane): boolean;
  /** There may be something to do in these. Those that are not its own it passes over. */
  offer(lanes: Iterable<Lane>): void;
}

/** Of a process that does not deliver. */
export const NO_OWN_LANES: OwnLanes = { isOwn: () => false, offer: () => {} };

/** `first`: the index of the target's first event. */
export function appendDeliveries(
  tx: Transaction,
  tenant: number,
  { key: stream, deliveries }: PreparedTarget,
  first: number,
  lanes: OwnLanes,
): void {
  if (deliveries === undefined) return;
  const marked = new Set<string>();
  let isOwn = true;
  for (const { offset, listener, value } of deliveries) {
    const lane = { tenant, listener, stream };
    putDelivery(tx, lane, first + offset, value);
    if (marked.has(listener)) continue;
    marked.add(listener);
    markLane(tx, lane);
    isOwn &&= lanes.isOwn(lane);
  }
  if (!isOwn) signalLanes(tx);
}

/** Tells of all that a transaction has put in; `outcomes` are those of `writes`. */
export function offerDeliveries(
  lanes: OwnLanes,
  tenant: number,
  writes: readonly PreparedWrite[],
  outcomes: readonly Outcome<Written>[],
): void {
  for (const [index, { targets }] of writes.entries()) {
    const outcome = outcomes[index]!;
    if (!outcome.ok || outcome.value === NOTHING_WRITTEN || outcome.value.replayed) continue;
    for (const { key: stream, deliveries } of targets) {
      if (deliveries === undefined) continue;
      const listeners = new Set(deliveries.map(({ listener }) => listener));
      lanes.offer([...listeners].map((listener) => ({ tenant, listener, stream })));
    }
  }
}
