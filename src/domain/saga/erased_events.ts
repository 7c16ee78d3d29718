/**
 * What becomes of a saga that holds events of a stream that was erased: it goes on with markers in
 * their place. Templates find nothing in these but key, type and time. Decisions, section 18.
 *
 * Bounded: `limits.sagaStepsMax` steps of one saga, each with a few entries of its history.
 */

import { ERASED_TYPE, markerOf } from "../erasure/marker.ts";
import { decodeEvent, parseEventId, type StoredEvent } from "../event.ts";
import type { SagaHistoryEntry, SagaInstance } from "./instance.ts";

/** Whose events were erased, by which request and when. */
export interface ErasedEvents {
  readonly stream: string;
  /** How many: those that follow are there. */
  readonly length: number;
  readonly tombstoneId: string;
  /** Milliseconds since 1970. */
  readonly erasedMs: number;
}

const MS_PER_SECOND = 1000;

/** Whether one of the erased events has started it. */
export function isStartedByErased({ trigger }: SagaInstance, erased: ErasedEvents): boolean {
  return trigger.key === erased.stream && (parseEventId(trigger.stream_id) ?? 0) < erased.length;
}

/** Whether it has anything of the erased events. */
export function holdsErased(instance: SagaInstance, erased: ErasedEvents): boolean {
  const { completed, history } = instance;
  return isStartedByErased(instance, erased) ||
    completed.some(({ event }) => isErased(event, erased)) ||
    history.some((entry) => isTold(entry, erased));
}

/** The instance without the data of these events, and without what was said of them. */
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

/** A reason may cite data. */
function isTold({ event, reason }: SagaHistoryEntry, { stream, length }: ErasedEvents): boolean {
  if (reason === undefined || event?.key !== stream) return false;
  return (parseEventId(event.stream_id) ?? 0) < length;
}

function withoutReason({ reason: _, ...entry }: SagaHistoryEntry): SagaHistoryEntry {
  return entry;
}

/** Where it stood is not kept; one of the same second is taken for an erased one. */
function isErased({ key, type, metadata }: StoredEvent, erased: ErasedEvents): boolean {
  if (key !== erased.stream || type === ERASED_TYPE) return false;
  return metadata.timestamp * MS_PER_SECOND <= erased.erasedMs;
}

/** Of the bytes that were stored: written as text, an event is what it was read from. */
function mark(event: StoredEvent, { tombstoneId }: ErasedEvents): StoredEvent {
  return decodeEvent(markerOf(event, JSON.stringify(event), tombstoneId).raw);
}
