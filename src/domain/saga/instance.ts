/**
 * One started saga: what it has done, what it waits for, and what may happen to it.
 *
 * All of it is plain JSON, so an instance is stored without conversion. See
 * docs/reference/sagas.md. When events are erased, a saga that holds copies of them goes on with
 * markers in their place. Templates find nothing in a marker except its key, type and time.
 *
 * Bounded: `limits.sagaStepsMax` steps of one saga, each with a few entries of its history.
 */

import { decodeEvent, parseEventId, type StoredEvent } from "../event.ts";
import type { Emission } from "../reaction/action.ts";
import type { StreamKey } from "../identifier.ts";
import { ERASED_TYPE, markerOf } from "../erasure/marker.ts";

export const SAGA_STATES = [
  "running",
  "completed",
  "compensating",
  "compensated",
  "failed",
] as const;
export type SagaState = typeof SAGA_STATES[number];

export type SagaPhase = "emit" | "compensate";

/** Where an event is. */
export interface EventReference {
  readonly key: string;
  readonly event_type: string;
  readonly stream_id: string;
}

/** An event with its place in the stream. */
export interface PlacedEvent {
  readonly event: StoredEvent;
  readonly streamId: string;
}

export interface SagaInstance {
  readonly id: string;
  readonly name: string;
  /** Hash of the definition that the saga started under. It also finishes under it. */
  readonly definition: string;
  readonly state: SagaState;
  /** Unix seconds. */
  readonly startedAt: number;
  readonly updatedAt: number;
  readonly trigger: EventReference;
  /**
   * The trigger event, which templates see as `$`. Dropped at the end, when nothing reads it
   * any more.
   */
  readonly triggerEvent?: StoredEvent;
  /**
   * Steps that are completed and not yet compensated, in order, each with the event that
   * completed it.
   */
  readonly completed: readonly CompletedStep[];
  /** Undefined in end states, and only there. */
  readonly waiting?: SagaWaiting;
  readonly history: readonly SagaHistoryEntry[];
}

export interface CompletedStep {
  /** Index in the definition. */
  readonly step: number;
  readonly event: StoredEvent;
}

export type SagaWaiting =
  /** Waits for its event to be written. The result follows at once, in the same transaction. */
  | {
    readonly kind: "write";
    readonly step: number;
    readonly phase: SagaPhase;
    /** How many tries to write it have failed before. */
    readonly tries: number;
    /** The stream to await afterwards. */
    readonly awaits?: StreamKey;
  }
  /** Waits for an event of the stream, until `dueMs`. */
  | {
    readonly kind: "event";
    readonly step: number;
    readonly key: StreamKey;
    readonly eventTypes: readonly string[];
    readonly dueMs: number;
  }
  /** Waits until `dueMs`, then goes on where it stands. */
  | {
    readonly kind: "pause";
    readonly step: number;
    readonly phase: SagaPhase;
    readonly tries: number;
    readonly dueMs: number;
  };

export type SagaOutcome =
  | "emitted"
  | "completed"
  | "skipped"
  | "failed"
  | "compensated"
  /** One try failed. The compensation is tried again, or the saga has failed. */
  | "compensation_failed";

/** One line of the history, oldest first. */
export interface SagaHistoryEntry {
  /** Unix seconds. */
  readonly at: number;
  readonly step: string;
  readonly outcome: SagaOutcome;
  /** The event written, or the event that ended the step. */
  readonly event?: EventReference;
  readonly reason?: string;
}

/** What happens to a saga. News that does not concern it, or no longer does, changes nothing. */
export type SagaNews =
  /** Its event was written. */
  | { readonly kind: "written"; readonly written: PlacedEvent; readonly nowMs: number }
  /**
   * Its event cannot be written: it does not fit the spec, is too large, or a module refused
   * it.
   */
  | { readonly kind: "unwritten"; readonly reason: string; readonly nowMs: number }
  /** The transaction can hold no more: do the same again in another one, at once. */
  | { readonly kind: "postponed"; readonly nowMs: number }
  /** An event arrived in the awaited stream, after the saga's own event. */
  | { readonly kind: "event"; readonly arrived: PlacedEvent; readonly nowMs: number }
  /** One of its timers is due. */
  | { readonly kind: "timeout"; readonly nowMs: number };

/** What to do, in this order, in the transaction that stores the instance. */
export type SagaEffect =
  /** Write the event, then tell the saga the result. Always the last effect. */
  | {
    readonly kind: "emit";
    readonly emission: Emission;
    readonly phase: SagaPhase;
    readonly step: string;
  }
  /** Show the saga events of these types that arrive from now on. */
  | {
    readonly kind: "await";
    readonly key: StreamKey;
    readonly eventTypes: readonly string[];
  }
  | {
    readonly kind: "clear_waits";
    readonly key: StreamKey;
    readonly eventTypes: readonly string[];
  }
  | { readonly kind: "set_timer"; readonly dueMs: number }
  | { readonly kind: "clear_timer"; readonly dueMs: number }
  /** The saga has failed; an error record must tell people. */
  | { readonly kind: "report"; readonly step: string; readonly reason: string }
  /** The saga has ended; nothing follows. */
  | { readonly kind: "done"; readonly state: SagaState };

export interface SagaTransition {
  readonly instance: SagaInstance;
  readonly effects: readonly SagaEffect[];
}

/** True for `completed`, `compensated` and `failed`. */
export function isEndState(state: SagaState): boolean {
  return state !== "running" && state !== "compensating";
}

export function referTo({ event, streamId }: PlacedEvent): EventReference {
  return { key: event.key, event_type: event.type, stream_id: streamId };
}

/** Which events were erased, by which erasure and when. */
interface ErasedEvents {
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
