/**
 * One saga that was started: what it has done, what it waits for, and what it may be told. All of
 * it is plain JSON, so an instance is stored as it is. Decisions, section 13.
 */

import type { StoredEvent } from "../event.ts";
import type { Emission } from "../reaction/action.ts";
import type { StreamKey } from "../stream_key.ts";

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

/** An event with its place. */
export interface PlacedEvent {
  readonly event: StoredEvent;
  readonly streamId: string;
}

export interface SagaInstance {
  readonly id: string;
  readonly name: string;
  /** Hash of the definition it was started under, and finishes under. */
  readonly definition: string;
  readonly state: SagaState;
  /** Unix seconds. */
  readonly startedAt: number;
  readonly updatedAt: number;
  readonly trigger: EventReference;
  /** The trigger as `$`; dropped in the end, for nothing reads it any more. */
  readonly triggerEvent?: StoredEvent;
  /** Steps completed and not yet compensated, in order, each with the event that ended it. */
  readonly completed: readonly CompletedStep[];
  /** Undefined in an end state, and only there. */
  readonly waiting?: SagaWaiting;
  readonly history: readonly SagaHistoryEntry[];
}

export interface CompletedStep {
  /** Index in the definition. */
  readonly step: number;
  readonly event: StoredEvent;
}

export type SagaWaiting =
  /** For its event to be written: told at once, in the same transaction. */
  | {
    readonly kind: "write";
    readonly step: number;
    readonly phase: SagaPhase;
    /** How often it could not be written before. */
    readonly tries: number;
    /** The stream awaited afterwards. */
    readonly awaits?: StreamKey;
  }
  /** For an event of the stream, until `dueMs`. */
  | {
    readonly kind: "event";
    readonly step: number;
    readonly key: StreamKey;
    readonly eventTypes: readonly string[];
    readonly dueMs: number;
  }
  /** Until `dueMs`; then it goes on where it stands. */
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
  /** One try; the step's compensation is tried again, or the saga has failed. */
  | "compensation_failed";

/** One line of the history, oldest first. */
export interface SagaHistoryEntry {
  /** Unix seconds. */
  readonly at: number;
  readonly step: string;
  readonly outcome: SagaOutcome;
  /** The event written, or the one that ended the step. */
  readonly event?: EventReference;
  readonly reason?: string;
}

/** What happens to a saga. News that does not concern it (any more) changes nothing. */
export type SagaNews =
  /** Its event is written. */
  | { readonly kind: "written"; readonly written: PlacedEvent; readonly nowMs: number }
  /** Its event does not fit the spec. */
  | { readonly kind: "unwritten"; readonly reason: string; readonly nowMs: number }
  /** The transaction can hold no more: the same again, in another one, at once. */
  | { readonly kind: "postponed"; readonly nowMs: number }
  /** An event in a stream that it awaits, after the emission. */
  | { readonly kind: "event"; readonly arrived: PlacedEvent; readonly nowMs: number }
  /** A timer of it is due. */
  | { readonly kind: "timeout"; readonly nowMs: number };

/** What is to be done, in this order, in the transaction that stores the instance. */
export type SagaEffect =
  /** Write the event, then tell the saga how that went. Always the last effect. */
  | {
    readonly kind: "emit";
    readonly emission: Emission;
    readonly phase: SagaPhase;
    readonly step: string;
  }
  /** Show it the events of these types that come from now on. */
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
  /** It has failed, and somebody should know. */
  | { readonly kind: "report"; readonly step: string; readonly reason: string }
  /** It has ended; nothing follows. */
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
