/**
 * Puts the deliveries of written events into their lanes, in the transaction of the events.
 * Once that has committed, the lanes are offered to this process, which sends at once. See
 * docs/reference/listeners.md.
 */

import type { Steps } from "../../domain/fairness/pieces.ts";
import type { Lane } from "../../domain/listener/delivery.ts";
import type { Outcome } from "../../domain/refusal.ts";
import type { Written } from "../../domain/write/write.ts";
import type { Transaction } from "../../kv/engine.ts";
import { markLane, putDelivery, signalLanes } from "../../store/listeners/deliveries.ts";
import { NOTHING_WRITTEN, type PreparedTarget, type PreparedWrite } from "./prepared_write.ts";

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

/** `first` is the index of the target's first event. */
export function* appendDeliveriesSteps(
  tx: Transaction,
  tenant: number,
  { key: stream, deliveries }: PreparedTarget,
  first: number,
  lanes: OwnLanes,
): Steps<void> {
  if (deliveries === undefined) return;
  const marked = new Set<string>();
  let isOwn = true;
  for (const { offset, listener, value } of deliveries) {
    const lane = { tenant, listener, stream };
    putDelivery(tx, lane, first + offset, value);
    yield;
    if (marked.has(listener)) continue;
    marked.add(listener);
    markLane(tx, lane);
    isOwn &&= lanes.isOwn(lane);
  }
  if (!isOwn) signalLanes(tx);
}

/**
 * Offers all lanes that a transaction has put deliveries into; `outcomes` are those of
 * `writes`.
 */
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
