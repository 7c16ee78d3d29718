/**
 * Makes the deliveries of events before their transaction. There is one for each listener of
 * the spec that hears an event. Their ids are drawn here, so a transaction that runs again
 * stores the same ids.
 */

import type { EncodedEvent } from "../../domain/event.ts";
import { limits } from "../../domain/limits.ts";
import { DELIVERY_ID_RANDOM_BYTES, deliveryId } from "../../domain/listener/delivery_id.ts";
import type { Steps } from "../../domain/fairness/pieces.ts";
import type { StreamKey } from "../../domain/stream_key.ts";
import { encodeDelivery } from "../../store/listeners/deliveries.ts";
import type { ReactionPlan } from "./prepare_reactions.ts";
import type { PreparedDelivery } from "./prepared_write.ts";

/** Key and mark besides the stream they name. Each counts as written and as a possible conflict. */
const KEY_BYTES = 64;
const KEY_FACTOR = 4;

/** The deliveries of `events` of one stream; undefined if no listener hears them. */
export function* prepareDeliveries(
  plan: ReactionPlan,
  aggregateType: string,
  key: StreamKey,
  events: readonly EncodedEvent[],
): Steps<readonly PreparedDelivery[] | undefined> {
  const { spec, host, nowMs } = plan;
  if (spec.listeners.size === 0) return undefined;
  let prepared: PreparedDelivery[] | undefined;
  for (const [offset, { type }] of events.entries()) {
    // The write will be refused, so further deliveries do not matter.
    if (plan.bytes > limits.writeStoredBytesMax) break;
    if (offset > 0) yield;
    for (const listener of spec.listenersOf(aggregateType, type)) {
      prepared ??= [];
      const id = deliveryId(nowMs, prepared.length, host.randomBytes(DELIVERY_ID_RANDOM_BYTES));
      const { url } = spec.listeners.get(listener)!;
      const fresh = { id, sinceMs: nowMs, dueMs: 0, url, tries: [], triesBefore: 0 };
      const cause = host.traceparent?.();
      const delivery = cause === undefined ? fresh : { ...fresh, cause };
      const value = encodeDelivery(delivery);
      prepared.push({ offset, listener, value });
      plan.bytes += value.length + KEY_FACTOR * (key.length + listener.length + KEY_BYTES);
    }
  }
  return prepared;
}
