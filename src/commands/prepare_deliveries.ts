/**
 * Makes the deliveries of events before their transaction: one for each listener of the spec that
 * hears an event. Their ids are drawn here, so that they are the same however often that runs.
 */

import type { EncodedEvent } from "../domain/event.ts";
import { limits } from "../domain/limits.ts";
import { DELIVERY_ID_RANDOM_BYTES, deliveryId } from "../domain/listener/delivery_id.ts";
import type { Steps } from "../domain/pieces.ts";
import type { StreamKey } from "../domain/stream_key.ts";
import { encodeDelivery } from "../store/deliveries.ts";
import type { ReactionPlan } from "./prepare_reactions.ts";
import type { PreparedDelivery } from "./prepared_write.ts";

/** Key and mark beside the stream they name, counted as written and as what may conflict. */
const KEY_BYTES = 64;
const KEY_FACTOR = 4;

/** What `events` of one stream are to be told; undefined where nobody hears them. */
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
    // The write is refused: whom it would be told is not asked any more.
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
