/**
 * A checked write with its bytes made, and all that is to commit with it: what is left for the
 * transaction is to place it.
 */

import type { ErrorRecord } from "../domain/error_record.ts";
import type { EncodedEvent } from "../domain/event.ts";
import type { ExpectedLength } from "../domain/occ.ts";
import type { CancelRule } from "../domain/reaction/action.ts";
import type { EmitEntry, WaitingEntry } from "../domain/reaction/outbox_entry.ts";
import type { Root, StoredRoot } from "../domain/reaction/root.ts";
import type { CompiledAggregateType } from "../domain/spec/compiled.ts";
import type { StreamKey } from "../domain/stream_key.ts";
import type { ValidEvent } from "../domain/validate_write.ts";
import type { IdempotencyClaim, WriteRequest, Written } from "../domain/write.ts";
import type { Bytes, Transaction } from "../kv/engine.ts";
import type { ScheduleRecord } from "../store/schedules.ts";

export interface PreparedWrite {
  readonly form: WriteRequest["form"];
  readonly targets: readonly PreparedTarget[];
  /** What its events store, and what they set off. */
  readonly bytes: number;
  /** Unix seconds stamped on its events. */
  readonly timestamp: number;
  /** Milliseconds of the service's clock. */
  readonly nowMs: number;
  readonly requestId: string;
  readonly idempotency?: IdempotencyClaim;
  /** How many events its events imply and schedule. */
  readonly impliedCount: number;
  /** About implications that came to nothing; they commit with the write. */
  readonly errors: readonly ErrorRecord[];
  /** How long others leave its outbox entries to this process; 0: it does not do them itself. */
  readonly ownWaitMs: number;
  /** Why the service itself writes it; absent for a client's write. */
  readonly cause?: Cause;
  /** On whose budget is what it sets off; absent for a client's write, which is a root. */
  readonly root?: Root;
  /** What the work that it leaves keeps of its root, where that is one for all its events. */
  readonly kept?: StoredRoot;
  /** Events that the environment may store within a month; absent: any number. */
  readonly allocation?: number;
  /** Streams of the implied events that may be written with it; absent where there are none. */
  readonly directStreams?: readonly StreamKey[];
}

export interface PreparedTarget {
  readonly key: StreamKey;
  readonly aggregateType: string;
  readonly id: string;
  readonly expected: ExpectedLength;
  readonly events: readonly EncodedEvent[];
  readonly bytes: number;
  /** What its events set off, by their place in `events`; absent where nothing is. */
  readonly reactions?: ReadonlyMap<number, PreparedReactions>;
  /** Who is to be told of its events; absent where nobody hears them. */
  readonly deliveries?: readonly PreparedDelivery[];
  /** Its aggregate type, where modules are among its handlers (`judge_writes.ts`). */
  readonly judgedAs?: CompiledAggregateType;
  /** Where the stream was when its handlers took these events; elsewhere nothing is written. */
  readonly takenAt?: StreamTip;
}

/** The latest event of a stream, by its chain hash; undefined where there is none. */
export interface StreamTip {
  readonly tip: string | undefined;
}

/** One event for one listener. */
export interface PreparedDelivery {
  /** The event's place in `events`. */
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
  /** As it is stored; absent where `direct` is there, for then it rarely is. */
  readonly value?: Bytes;
  /** The event, checked, where it may be written with its trigger. */
  readonly direct?: ValidEvent;
}

/** A record without what only the transaction knows. */
export type PreparedSchedule =
  & Omit<ScheduleRecord, "by" | "cancelOn">
  & { readonly cancelOn: readonly CancelRule[] };

/** What a write of the service itself comes from, and what is settled in its transaction. */
export interface Cause {
  readonly origin: "implied" | "scheduled";
  /** Whose effect it is: one transaction may have it once. */
  readonly subject: string;
  /** Names of the rules that take it away. See `schedules.ts`. */
  readonly rules?: readonly string[];
  /** False where somebody else was faster; then nothing is written. Its reads are guarded. */
  isDue(tx: Transaction): Promise<boolean>;
  /** Called after the events are placed. */
  settle(tx: Transaction, written: Written): void;
}

/** The answer to a write whose cause was gone: nothing was written. */
export const NOTHING_WRITTEN: Written = {
  form: "single",
  targets: [],
  impliedCount: 0,
  replayed: false,
  requestId: "",
};

/** The answer to a write whose stream is not where its handlers took its events: none either. */
export const STREAM_MOVED: Written = { ...NOTHING_WRITTEN };
