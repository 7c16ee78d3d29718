/**
 * Owns the transaction body of every write: ledger, expected length, then all targets or none.
 * Everything that belongs to the events commits with them. Several writes to one stream may
 * share a transaction; each gets its own answer.
 */

import type { EncodedEvent } from "../../domain/event.ts";
import {
  openPieces,
  type Pieces,
  runAtOnce,
  runInPieces,
  runWithin,
  type Steps,
  type Turns,
} from "../../domain/fairness/pieces.ts";
import { meetsExpectedLength } from "../../domain/write/validate_write.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import { splitStreamKey, type StreamKey } from "../../domain/identifier.ts";
import type { WriteRequest, Written } from "../../domain/write/write.ts";
import type { Transaction } from "../../kv/engine.ts";
import { readEpoch } from "../../store/streams/audit_cuts.ts";
import { addToLog, logCommit, type LogEntry, signalCommits } from "../../store/feed/commit_log.ts";
import { noteLogStarts } from "../../store/feed/fill.ts";
import { storeErrorRecord } from "../../store/error_records.ts";
import { createRoot } from "../../store/reactions/roots.ts";
import {
  answerRepeated,
  type LedgerEntry,
  readLedger,
  recordInLedger,
} from "../../store/streams/idempotency.ts";
import { openStreams, type StreamAppender } from "../../store/streams/streams.ts";
import type { WatchedTypes, WatchedTypesReader } from "../../store/reactions/watched_types.ts";
import { appendDeliverySteps, NO_OWN_LANES, type OwnLanes } from "./append_deliveries.ts";
import { type AppendedReactions, appendReactionSteps, NO_REACTIONS } from "./append_reactions.ts";
import { type DirectStreams, NO_STREAMS } from "./direct_events.ts";
import {
  type Cause,
  NOTHING_WRITTEN,
  type PreparedTarget,
  type PreparedWrite,
  STREAM_MOVED,
} from "./prepared_write.ts";
import type { ConditionScene, OpenConditions } from "./judge_guards.ts";
import { flushWatched, type ReactionState, readReactionState, setsOff } from "./reaction_state.ts";
import { flushRootClaims, tellErrors } from "./root_claims.ts";
import { assert } from "../../domain/assert.ts";
import type { PlanUsage } from "../../domain/limits/plan.ts";
import { countUsage, monthEnd, monthOf, readUsage } from "../../store/usage.ts";
import { TextMap, type Texts, TextSet } from "../../domain/lookup/text_map.ts";

const MS_PER_SECOND = 1000;
/** A write that stores this much is hashed in time slices; less takes no longer than one. */
const LONG_BYTES = 256 * 1024;

export interface AppendOptions {
  /**
   * Streams besides those of the writes to which implied events may be written directly
   * (`direct_events.ts`). An implied event for any other stream goes to the outbox.
   */
  readonly directStreams?: Texts<StreamKey>;
  /** The delivery lanes that this process works on. */
  readonly lanes?: OwnLanes;
  /**
   * With them, the events of a long write are hashed in time slices, and so is added what it sets
   * off. Others run between the slices (`pieces.ts`).
   */
  readonly turns?: Turns;
  /** Judges preconditions and guards; given where a write has some. */
  readonly openConditions?: OpenConditions;
}

/**
 * Appends each write in order. A refused write leaves no trace; neither does a write whose
 * cause is gone ({@link NOTHING_WRITTEN}) or whose stream has moved ({@link STREAM_MOVED}).
 *
 * With conditions, it may end early: writes without an outcome have to be submitted again.
 *
 * All reads are issued at once, because on a networked store each one waits for a round trip.
 * Two of the writes must not share an idempotency key. They never do: the second is refused
 * while the first is in flight (`write_events.ts`).
 */
export async function appendWrites(
  tx: Transaction,
  tenant: number,
  writes: readonly PreparedWrite[],
  watched: WatchedTypesReader,
  { directStreams = NO_STREAMS, lanes = NO_OWN_LANES, turns, openConditions }: AppendOptions = {},
): Promise<Outcome<Written>[]> {
  // All reads share one promise: a rejection that nobody awaits would end the process.
  const [own, implied, epoch, reactions, meter, readings] = await Promise.all([
    openStreams(tx, tenant, [...streamsOf(writes)]),
    directStreams.size === 0 ? [] : openStreams(tx, tenant, [...directStreams]),
    readEpoch(tx, tenant),
    readReactionState(tx, tenant, writes, { watched, turns }),
    openMeter(tx, tenant, writes),
    readForWrites(tx, tenant, writes),
  ]);
  const [streams, direct]: [Streams, Streams] = [new TextMap(), new TextMap()];
  for (const stream of own) streams.set(stream.key, stream);
  for (const stream of implied) direct.set(stream.key, stream);
  const opened = [...own, ...implied];
  const state = { streams, direct, reactions, meter };
  const conditions = openConditions?.(tx, opened);
  if (writes.length > 1) conditions?.begin(writes);
  const long = turns === undefined ? [] : longAppends(writes, streams);
  // A short write alone does not pay for reading the clock.
  const pieces = writes.length + long.length > 1 ? turns && openPieces(turns) : undefined;
  for (const [stream, events] of long) await runWithin(pieces!, stream.chainAheadSteps(events));
  const [outcomes, log]: [Outcome<Written>[], LogEntry[]] = [[], []];
  const loggedLengths = new TextMap<number, StreamKey>();
  for (const [index, write] of writes.entries()) {
    const rest = pieces?.rest();
    if (rest !== undefined) await rest;
    const early = refuseAppend(tx, tenant, write, readings[index], state);
    const judging = early ?? (write.conditions && judgeOf(conditions)(write));
    const judged = judging instanceof Promise ? await judging : judging;
    if (judged === "later") break;
    const refused = judged ?? meter.refuse?.(write);
    if (refused !== undefined) {
      outcomes.push(refused);
      continue;
    }
    const firsts: number[] = [];
    for (const { key, events } of write.targets) {
      const first = streams.get(key)!.append(events, write.timestamp);
      firsts.push(first);
      addToLog(log, key, first, events.length);
    }
    const appended = !reactions.isQuiet && setsOff(write, reactions)
      ? await runHere(appendReactionSteps(tx, reactions, write, firsts, direct), turns, pieces)
      : NO_REACTIONS;
    if (appended.direct > 0) addGrown(log, implied, loggedLengths);
    for (const [number, target] of write.targets.entries()) {
      if (target.deliveries === undefined) continue;
      const steps = appendDeliverySteps(tx, tenant, target, firsts[number]!, lanes);
      await runHere(steps, turns, pieces);
    }
    outcomes.push(settleWrite(tx, tenant, write, firsts, appended, state));
  }
  assert(outcomes.length > 0, "the first write is judged at once");
  const spent = reactions.claims === undefined
    ? []
    : await flushRootClaims(tx, reactions.claims, writes[0]!.targets[0]!.key);
  meter.flush(tx);
  if (!reactions.isQuiet) flushWatched(tx, reactions);
  if (pieces === undefined) { for (const stream of opened) stream.flush(epoch); }
  else await runWithin(pieces, flushSteps(opened, epoch));
  if (log.length > 0) await logEntries(tx, tenant, log, reactions.watched);
  if (spent.length > 0) tellErrors(outcomes, spent);
  return outcomes;
}

function judgeOf(conditions: ConditionScene | undefined): ConditionScene["judge"] {
  assert(conditions !== undefined, "somebody judges what has conditions");
  return conditions.judge;
}

function* flushSteps(streams: readonly StreamAppender[], epoch: number): Steps<void> {
  for (const stream of streams) {
    stream.flush(epoch);
    yield;
  }
}

/** In the slices of the transaction, if it has some, or else in slices of its own. */
function runHere<T>(
  steps: Steps<T>,
  turns: Turns | undefined,
  pieces: Pieces | undefined,
): T | Promise<T> {
  if (pieces !== undefined) return runWithin(pieces, steps);
  return turns === undefined ? runAtOnce(steps) : runInPieces(steps, turns);
}

/** The first events of each stream, where hashing them takes longer than a moment. */
function longAppends(
  writes: readonly PreparedWrite[],
  streams: Streams,
): [StreamAppender, readonly EncodedEvent[]][] {
  const long = new Map<StreamAppender, readonly EncodedEvent[]>();
  for (const { bytes, targets } of writes) {
    if (bytes < LONG_BYTES) continue;
    for (const { key, events } of targets) {
      const stream = streams.get(key)!;
      if (!long.has(stream)) long.set(stream, events);
    }
  }
  return [...long];
}

/** Read for a single write: whether its cause is due, or the ledger entry of its key. */
type WriteReading = boolean | LedgerEntry | undefined;

/** Returns synchronously if no write has a cause or an idempotency key. */
function readForWrites(
  tx: Transaction,
  tenant: number,
  writes: readonly PreparedWrite[],
): readonly WriteReading[] | Promise<WriteReading[]> {
  for (const { idempotency, cause } of writes) {
    if (idempotency === undefined && cause === undefined) continue;
    return Promise.all(writes.map((write) => readForWrite(tx, tenant, write)));
  }
  return [];
}

function readForWrite(
  tx: Transaction,
  tenant: number,
  { idempotency, cause }: PreparedWrite,
): WriteReading | Promise<WriteReading> {
  if (cause !== undefined) return cause.isDue(tx);
  return idempotency && readLedger(tx, tenant, idempotency);
}

/** Puts what the transaction has appended into the commit log, and wakes who waits for it. */
export async function logEntries(
  tx: Transaction,
  tenant: number,
  log: readonly LogEntry[],
  { logged, isFilling }: WatchedTypes,
): Promise<void> {
  if (isFilling) await noteLogStarts(tx, tenant, log);
  logCommit(tx, tenant, log);
  if (logged.size === 0) return;
  if (log.some(({ stream }) => logged.has(splitStreamKey(stream).type))) signalCommits(tx);
}

/** Adds what streams have grown by since they were opened or last added. */
function addGrown(
  log: LogEntry[],
  streams: readonly StreamAppender[],
  lengths: TextMap<number, StreamKey>,
): void {
  for (const { key, before, head } of streams) {
    const first = lengths.get(key) ?? before.length;
    if (head.length === first) continue;
    addToLog(log, key, first, head.length - first);
    lengths.set(key, head.length);
  }
}

type Streams = TextMap<StreamAppender, StreamKey>;

/** What one transaction has read; it changes with each write. */
interface WriteState {
  readonly streams: Streams;
  readonly direct: DirectStreams;
  readonly reactions: ReactionState;
  readonly meter: EventMeter;
}

function streamsOf(writes: readonly PreparedWrite[]): Texts<StreamKey> {
  const keys = new TextSet<StreamKey>();
  for (const { targets } of writes) for (const { key } of targets) keys.add(key);
  return keys;
}

/** Why the write is not appended, or the answer that it has had before; else undefined. */
function refuseAppend(
  tx: Transaction,
  tenant: number,
  write: PreparedWrite,
  reading: WriteReading,
  { streams, reactions }: WriteState,
): Outcome<Written> | undefined {
  const { idempotency, cause } = write;
  const isGone = cause !== undefined && isCauseGone(cause, reactions);
  if (reading === false || isGone) return accept(NOTHING_WRITTEN);
  if (idempotency !== undefined) {
    const entry = typeof reading === "object" ? reading : undefined;
    const now = Math.floor(write.nowMs / MS_PER_SECOND);
    const recorded = answerRepeated(tx, tenant, { idempotency, entry }, now);
    if (recorded !== undefined) return recorded;
  }
  let isMoved = false;
  for (const target of write.targets) {
    const { length, tip } = streams.get(target.key)!.head;
    if (!meetsExpectedLength(length, target.expected)) {
      return refuseConflict(write.form, target, length);
    }
    if (target.takenAt !== undefined && target.takenAt.tip !== tip) isMoved = true;
  }
  return isMoved ? accept(STREAM_MOVED) : undefined;
}

/**
 * Appends what belongs to the events of a write, and makes its answer. `firsts` are the indexes of
 * the first events of its targets.
 */
function settleWrite(
  tx: Transaction,
  tenant: number,
  write: PreparedWrite,
  firsts: readonly number[],
  { works: outbox, direct, scheduled, isRootSpent }: AppendedReactions,
  { reactions, meter }: WriteState,
): Outcome<Written> {
  const { form, requestId, idempotency, cause, impliedCount, root, kept } = write;
  let eventCount = 0;
  const targets: Written["targets"][number][] = [];
  for (const [index, target] of write.targets.entries()) {
    const first = firsts[index]!;
    const { key, events: { length: count } } = target;
    eventCount += count;
    targets.push({ key, first, count });
  }
  for (const error of write.errors) storeErrorRecord(tx, tenant, error);
  if (root === undefined && kept !== undefined && outbox.length + scheduled > 0) {
    const record = { count: impliedCount, changedMs: write.nowMs };
    createRoot(tx, tenant, kept.of!, record);
  }
  const written: Written = { form, targets, impliedCount, replayed: false, requestId };
  const plan = meter.note(write, eventCount + direct);
  if (idempotency !== undefined) {
    const used = Math.floor(write.nowMs / MS_PER_SECOND);
    recordInLedger(tx, tenant, idempotency, { used, written });
  }
  if (cause !== undefined) {
    cause.settle(tx, written);
    reactions.gone.add(cause.subject);
  }
  const isPlain = outbox.length + direct === 0 && !isRootSpent;
  if (isPlain && plan === undefined) return accept(written);
  return accept({
    ...written,
    plan,
    outbox: outbox.length > 0 ? outbox : undefined,
    direct: direct > 0 ? direct : undefined,
    ...(isRootSpent && { isRootSpent }),
  });
}

/** Whether an earlier write of the same transaction has done or cancelled the cause. */
function isCauseGone(cause: Cause, { gone, moved }: ReactionState): boolean {
  return gone.has(cause.subject) || (cause.rules?.some((rule) => moved.has(rule)) ?? false);
}

function refuseConflict(form: WriteRequest["form"], target: PreparedTarget, length: number) {
  const expected = target.expected as number;
  if (form !== "atomic") return refuse({ kind: "occ_conflict", length, expected });
  return refuse({ kind: "occ_conflict_atomic", key: target.key, length, expected });
}

/** Meters a transaction's events against the plan; only clients' writes are ever refused. */
interface EventMeter {
  /**
   * Returns a refusal if the month's remaining events do not suffice for the write. Undefined if no
   * write has a limit.
   */
  readonly refuse: ((write: PreparedWrite) => Outcome<never> | undefined) | undefined;
  /** Notes events that a write has placed. Returns the usage if there is a limit. */
  note(write: PreparedWrite, events: number): PlanUsage | undefined;
  /** Counts everything that was noted. Call it once. */
  flush(tx: Transaction): void;
}

/**
 * Reads the usage only if a write has a limit, and reads it unguarded. So concurrent writes do
 * not see each other's events and may exceed the limit by that many.
 */
async function openMeter(
  tx: Transaction,
  tenant: number,
  writes: readonly PreparedWrite[],
): Promise<EventMeter> {
  const first = writes[0]!;
  const month = monthOf(first.nowMs);
  let isLimited = false;
  for (const { allocation } of writes) if (allocation !== undefined) isLimited = true;
  let used = isLimited ? await readUsage(tx.unguarded, tenant, month) : 0;
  let noted = 0;

  function refuseBeyond({ allocation: limit, targets }: PreparedWrite) {
    if (limit === undefined) return undefined;
    const events = targets.reduce((sum, target) => sum + target.events.length, 0);
    if (used + events <= limit) return undefined;
    const resetsAt = monthEnd(month);
    return refuse({ kind: "plan_limit", usage: used, limit, events, resetsAt });
  }

  return {
    refuse: isLimited ? refuseBeyond : undefined,
    note({ allocation }, events) {
      noted += events;
      used += events;
      return allocation === undefined ? undefined : { usage: used, limit: allocation };
    },
    flush(tx) {
      if (noted > 0) {
        countUsage(tx, tenant, { month, events: noted, subject: first.targets[0]!.key });
      }
    },
  };
}
