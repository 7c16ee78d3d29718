/**
 * Replaces erased events in a saga that holds copies of them.
 *
 * The saga goes on with markers in their place. Templates find nothing in a marker except its
 * key, type and time. See docs/reference/erasure.md.
 *
 * Bounded: `limits.sagaStepsMax` steps of one saga, each with a few entries of its history.
 */

import { ERASED_TYPE, markerOf } from "../erasure/marker.ts";
import { decodeEvent, parseEventId, type StoredEvent } from "../event.ts";
import type { SagaHistoryEntry, SagaInstance } from "./instance.ts";

/** Which events were erased, by which erasure and when. */
export interface ErasedEvents {
  readonly stream: string;
  /** The number of erased events. Events from this index on were not erased. */
  readonly length: number;
  readonly tombstoneId: string;
  /** Milliseconds since 1970. */
  readonly erasedMs: number;
}

const MS_PER_SECOND = 1000;

/** Whether an erased event started the saga. */
export function isStartedByErased({ trigger }: SagaInstance, erased: ErasedEvents): boolean {
  return trigger.key === erased.stream && (parseEventId(trigger.stream_id) ?? 0) < erased.length;
}

/** Whether the saga contains anything of the erased events. */
export function holdsErased(instance: SagaInstance, erased: ErasedEvents): boolean {
  const { completed, history } = instance;
  return isStartedByErased(instance, erased) ||
    completed.some(({ event }) => isErased(event, erased)) ||
    history.some((entry) => isTold(entry, erased));
}

/** The instance without the data of the erased events, and without history reasons about them. */
export function eraseEvents(instance: SagaInstance, erased: ErasedEvents): SagaInstance {
  const { triggerEvent, completed, history } = instance;
  const isOwn = isStartedByErased(instance, erased);
  return {
    ...instance,
    ...(isOwn && triggerEvent !== undefined && { triggerEvent: mark(triggerEvent, erased) }),
    completed: completed.map(({ step, event }) => (
      { step, event: isErased(event, erased) ? mark(event, erased) : event }
    )),
    history: history.map((entry) => isOwn || isTold(entry, erased) ? withoutReason(entry) : entry),
  };
}

/** True for a reason about an erased event, since a reason may quote data. */
function isTold({ event, reason }: SagaHistoryEntry, { stream, length }: ErasedEvents): boolean {
  if (reason === undefined || event?.key !== stream) return false;
  return (parseEventId(event.stream_id) ?? 0) < length;
}

function withoutReason({ reason: _, ...entry }: SagaHistoryEntry): SagaHistoryEntry {
  return entry;
}

/**
 * A saga does not store the index of these events, so they are matched by time. An event
 * written in the same second as the erasure is taken for erased.
 */
function isErased({ key, type, metadata }: StoredEvent, erased: ErasedEvents): boolean {
  if (key !== erased.stream || type === ERASED_TYPE) return false;
  return metadata.timestamp * MS_PER_SECOND <= erased.erasedMs;
}

/** The marker needs the stored bytes. Encoding an event gives back the text it was parsed from. */
function mark(event: StoredEvent, { tombstoneId }: ErasedEvents): StoredEvent {
  return decodeEvent(markerOf(event, JSON.stringify(event), tombstoneId).raw);
}
