/**
 * Defines a checked write whose bytes are made, with everything that commits with it. The
 * transaction only has to place it.
 */

import type { ErrorRecord } from "../../domain/error_record.ts";
import type { EncodedEvent } from "../../domain/event.ts";
import type { ExpectedLength, ValidEvent } from "../../domain/write/validate_write.ts";
import type { CancelRule } from "../../domain/reaction/action.ts";
import type { EmitEntry, WaitingEntry } from "../../domain/reaction/outbox_entry.ts";
import type { Root, StoredRoot } from "../../domain/reaction/root.ts";
import type { CompiledAggregateType, CompiledSpec } from "../../domain/spec/compiled.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { Precondition } from "../../domain/write/precondition.ts";
import type { IdempotencyClaim, WriteRequest, Written } from "../../domain/write/write.ts";
import type { Outcome } from "../../domain/refusal.ts";
import type { Bytes, Transaction } from "../../kv/engine.ts";
import type { ScheduleRecord } from "../../store/reactions/schedules.ts";

export interface PreparedWrite {
  readonly form: WriteRequest["form"];
  readonly targets: readonly PreparedTarget[];
  /** Stored size of its events and of what they set off. */
  readonly bytes: number;
  /** Unix time in seconds that is stamped on its events. */
  readonly timestamp: number;
  /** The service's clock, in milliseconds. */
  readonly nowMs: number;
  readonly requestId: string;
  readonly idempotency?: IdempotencyClaim;
  /** How many events its events imply and schedule. */
  readonly impliedCount: number;
  /** Error records about implications that failed; they commit with the write. */
  readonly errors: readonly ErrorRecord[];
  /** How long others leave its outbox entries to this process; 0 if it does not do them itself. */
  readonly ownWaitMs: number;
  /** Why the service itself writes it; absent for a client's write. */
  readonly cause?: Cause;
  /** Whose budget its reactions use; absent for a client's write, which is a root itself. */
  readonly root?: Root;
  /** The root that its work stores, if all its events share one. */
  readonly kept?: StoredRoot;
  /** Events that the environment may store within a month; absent if unlimited. */
  readonly allocation?: number;
  /** Streams of implied events that may be written with it; absent if there are none. */
  readonly directStreams?: readonly StreamKey[];
  /** What has to hold when it is written; absent if nothing has to. */
  readonly conditions?: Conditions;
}

/** What is judged in the transaction of a write. See `judge_guards.ts`. */
export interface Conditions {
  readonly preconditions: readonly Precondition[];
  /** Whether an event of the write has guards. */
  readonly isGuarded: boolean;
  /** The spec that the write was checked against. */
  readonly spec: CompiledSpec;
}

export interface PreparedTarget {
  readonly key: StreamKey;
  readonly aggregateType: string;
  readonly id: string;
  readonly expected: ExpectedLength;
  readonly events: readonly EncodedEvent[];
  readonly bytes: number;
  /** What its events set off, by their offset in `events`; absent if nothing. */
  readonly reactions?: ReadonlyMap<number, PreparedReactions>;
  /** Deliveries of its events; absent if no listener hears them. */
  readonly deliveries?: readonly PreparedDelivery[];
  /** Its aggregate type, if modules are among its handlers (`judge_writes.ts`). */
  readonly judgedAs?: CompiledAggregateType;
  /** Where the stream was when its handlers accepted the events; elsewhere nothing is written. */
  readonly takenAt?: StreamTip;
  /**
   * The state before events that guards or other targets may look at, and after all of them, by
   * their offset; absent if modules judge none of them.
   */
  readonly judgedStates?: ReadonlyMap<number, string>;
}

/** The latest event of a stream, by its chain hash; undefined if there is none. */
export interface StreamTip {
  readonly tip: string | undefined;
}

/** One event for one listener. */
export interface PreparedDelivery {
  /** The event's offset in `events`. */
  readonly offset: number;
  readonly listener: string;
  /** As it is stored. */
  readonly value: Bytes;
}

/** What one event sets off. */
export interface PreparedReactions {
  readonly entries: readonly PreparedEntry[];
  readonly schedules: readonly PreparedSchedule[];
}

export interface PreparedEntry extends WaitingEntry {
  readonly entry: EmitEntry;
  /** The encoded entry; absent if `direct` is set, because then it is rarely needed. */
  readonly value?: Bytes;
  /** The checked event, if it may be written with its trigger. */
  readonly direct?: ValidEvent;
}

/** A scheduled event without what only the transaction knows. */
export type PreparedSchedule =
  & Omit<ScheduleRecord, "by" | "cancelOn">
  & {
    readonly cancelOn: readonly CancelRule[];
    /** At least what the record stores, with its key, its timer and its rules. */
    readonly bytes: number;
  };

/** Why the service itself writes something, and what is settled in the same transaction. */
export interface Cause {
  readonly origin: "implied" | "scheduled";
  /** Names the effect: a transaction may have each one only once. */
  readonly subject: string;
  /** Names of the rules that cancel it. See `schedules.ts`. */
  readonly rules?: readonly string[];
  /** Returns false if another process was faster; then nothing is written. Reads guarded. */
  isDue(tx: Transaction): Promise<boolean>;
  /** Called after the events are placed. */
  settle(tx: Transaction, written: Written): void;
}

/** Commits a write, and answers when it is known what became of it. */
export type Submit = (tenant: number, write: PreparedWrite) => Promise<Outcome<Written>>;

/** The answer to a write whose cause was gone: nothing was written. */
export const NOTHING_WRITTEN: Written = {
  form: "single",
  targets: [],
  impliedCount: 0,
  replayed: false,
  requestId: "",
};

/** The answer to a write whose stream has moved since it was judged: nothing was written either. */
export const STREAM_MOVED: Written = { ...NOTHING_WRITTEN };
