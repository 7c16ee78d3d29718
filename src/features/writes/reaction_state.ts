/**
 * What the events of a transaction may cancel or set off. All of it is read before the first of
 * them is appended, in steps: the events may be thousands, each with rules of its own.
 */

import { limits } from "../../domain/limits.ts";
import type { CancelRule } from "../../domain/reaction/action.ts";
import { openPieces, type Pieces, type Turns } from "../../domain/fairness/pieces.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { Transaction } from "../../kv/engine.ts";
import {
  type CancelRoom,
  findCancelled,
  hasCancelRules,
  readCancelMark,
  ruleName,
  type ScheduleRecord,
} from "../../store/reactions/schedules.ts";
import {
  type WatchedTypes,
  type WatchedTypesReader,
  watchTypes,
} from "../../store/reactions/watched_types.ts";
import type { PreparedWrite } from "./prepared_write.ts";
import { readRootClaims, type RootClaims } from "./root_claims.ts";
import { TextMap, type Texts, TextSet } from "../../domain/lookup/text_map.ts";

/** What one transaction knows about reactions; it changes with each event that is appended. */
export interface ReactionState {
  readonly tenant: number;
  /** Including those that this transaction adds. */
  watched: WatchedTypes;
  readonly watchedBefore: WatchedTypes;
  /** All types that cancel, once this transaction has added some. See {@link flushWatched}. */
  grownCancels: TextSet | undefined;
  /**
   * Pending scheduled events by the rule that cancels them; undefined if they are too many, or too
   * large, for one transaction.
   */
  readonly pending: TextMap<ScheduleRecord[] | undefined>;
  readonly cancelRoom: CancelRoom;
  readonly marks: TextMap<number>;
  /** Causes that this transaction has already settled or cancelled. */
  readonly gone: TextSet;
  /** Rules whose cancel mark this transaction has moved. */
  readonly moved: TextSet;
  /** Scheduled events that this transaction has cancelled one by one. */
  cancelled: number;
  /** Whether no event of its writes can set anything off, or cancel what waits. */
  readonly isQuiet: boolean;
  /** Budgets of the roots of its writes; undefined if no write draws on a budget. */
  readonly claims: RootClaims | undefined;
}

export interface ReactionReading {
  readonly watched: WatchedTypesReader;
  /** With them, rules are read in time slices. */
  readonly turns?: Turns;
}

/** Reads everything that the events of `writes` may touch. Guarded. */
export async function readReactionState(
  tx: Transaction,
  tenant: number,
  writes: readonly PreparedWrite[],
  { watched: reader, turns }: ReactionReading,
): Promise<ReactionState> {
  const reads = reader.read(tx, tenant);
  let isDrawing = false;
  for (const { root } of writes) if (root !== undefined) isDrawing = true;
  const [watched, claims] = isDrawing
    ? await Promise.all([reads, readRootClaims(tx, tenant, writes)])
    : [await reads, undefined];
  const isReacting = writes.some(hasReactions);
  const state: ReactionState = {
    tenant,
    watched,
    watchedBefore: watched,
    grownCancels: undefined,
    pending: new TextMap(),
    cancelRoom: {
      records: limits.cancelledOneByOneMax,
      bytes: limits.cancelledOneByOneBytesMax,
    },
    marks: new TextMap(),
    gone: new TextSet(),
    moved: new TextSet(),
    cancelled: 0,
    isQuiet: !isReacting && watched.cancels.size + watched.sagas.size === 0,
    claims,
  };
  if (watched.cancels.size > 0 || isReacting) await readRules(tx, state, writes, turns);
  return state;
}

/** Whether the events of a write may set something off, or cancel what waits. */
export function setsOff(write: PreparedWrite, { watched }: ReactionState): boolean {
  return watched.cancels.size + watched.sagas.size > 0 || hasReactions(write);
}

/** Stores the watched types that the transaction has added, all at once. Call it once. */
export function flushWatched(
  tx: Transaction,
  { tenant, watchedBefore, grownCancels }: ReactionState,
): void {
  if (grownCancels === undefined) return;
  watchTypes(tx, tenant, watchedBefore, { cancels: grownCancels });
}

function hasReactions({ targets }: PreparedWrite): boolean {
  for (const { reactions } of targets) if (reactions !== undefined) return true;
  return false;
}

/** Rules that are looked up at once: on a networked store each read waits for a round trip. */
const READS_PER_STEP = 32;
/** What each of them may read; of one with more, the records are read alone. */
const FEW_RECORDS = 8;

/** A rule that an event of the writes follows. */
interface RuleRead {
  readonly rule: CancelRule;
  readonly name: string;
}

/** What cancels and what may be cancelled, in steps. */
async function readRules(
  tx: Transaction,
  state: ReactionState,
  writes: readonly PreparedWrite[],
  turns: Turns | undefined,
): Promise<void> {
  /** Streams without any rule: their events cancel nothing. */
  const free = new TextSet<StreamKey>();
  /** Rules with more records than a few. */
  const long: RuleRead[] = [];
  await inSteps(findFree(tx, state, writes, free), READS_PER_STEP, turns);
  await inSteps(readFirst(tx, state, { writes, free, long }), READS_PER_STEP, turns);
  await inSteps(readLong(tx, state, long), 1, turns);
}

function* readFirst(...reads: Parameters<typeof readPending>): Iterable<Promise<void>> {
  const [tx, state, { writes }] = reads;
  yield* readPending(...reads);
  yield* readMarks(tx, state, writes);
}

/** Makes so many reads at once, and rests between. */
async function inSteps(
  reads: Iterable<Promise<void>>,
  step: number,
  turns: Turns | undefined,
): Promise<void> {
  let pieces: Pieces | undefined;
  let reading: Promise<void>[] = [];
  for (const read of reads) {
    reading.push(read);
    if (reading.length < step) continue;
    await Promise.all(reading);
    reading = [];
    pieces ??= turns && openPieces(turns);
    const rest = pieces?.rest();
    if (rest !== undefined) await rest;
  }
  if (reading.length > 0) await Promise.all(reading);
}

/** Looks for rules of the streams that many events are for. */
function* findFree(
  tx: Transaction,
  { tenant, watched }: ReactionState,
  writes: readonly PreparedWrite[],
  free: TextSet<StreamKey>,
): Iterable<Promise<void>> {
  if (watched.cancels.size === 0) return;
  for (const { targets } of writes) {
    for (const { key, events } of targets) {
      if (events.length <= READS_PER_STEP) continue;
      yield hasCancelRules(tx, tenant, key).then((has) => void (has || free.add(key)));
    }
  }
}

interface PendingReads {
  readonly writes: readonly PreparedWrite[];
  readonly free: Texts<StreamKey>;
  readonly long: RuleRead[];
}

function* readPending(
  tx: Transaction,
  state: ReactionState,
  { writes, free, long }: PendingReads,
): Iterable<Promise<void>> {
  const { watched: { cancels }, pending } = state;
  if (cancels.size === 0) return;
  for (const { targets } of writes) {
    for (const { key, aggregateType, events } of targets) {
      for (const { type: eventType } of events) {
        if (!cancels.has(`${aggregateType}.${eventType}`)) continue;
        const name = ruleName(key, eventType);
        if (pending.has(name)) continue;
        pending.set(name, []);
        if (!free.has(key)) yield readFew(tx, state, { rule: { key, eventType }, name }, long);
      }
    }
  }
}

/** Reads the records of a rule, if they are few. */
async function readFew(
  tx: Transaction,
  state: ReactionState,
  read: RuleRead,
  long: RuleRead[],
): Promise<void> {
  const { cancelRoom: room, tenant, marks, pending } = state;
  const most = Math.max(0, Math.min(FEW_RECORDS, room.records));
  const bytes = Math.floor(limits.cancelledOneByOneBytesMax / READS_PER_STEP);
  const few: CancelRoom = { records: most, bytes };
  const [records, mark] = await Promise.all([
    findCancelled(tx, tenant, read.rule, few),
    readCancelMark(tx, tenant, read.rule),
  ]);
  marks.set(read.name, mark);
  pending.set(read.name, records);
  if (records === undefined) return void (most > 0 && long.push(read));
  room.records -= most - few.records;
  room.bytes -= bytes - few.bytes;
}

function* readLong(
  tx: Transaction,
  { tenant, pending, cancelRoom }: ReactionState,
  long: readonly RuleRead[],
): Iterable<Promise<void>> {
  for (const { rule, name } of long) {
    const reading = findCancelled(tx, tenant, rule, cancelRoom);
    yield reading.then((records) => void pending.set(name, records));
  }
}

function* readMarks(
  tx: Transaction,
  { tenant, marks }: ReactionState,
  writes: readonly PreparedWrite[],
): Iterable<Promise<void>> {
  for (const { targets } of writes) {
    for (const { reactions } of targets) {
      if (reactions === undefined) continue;
      for (const { schedules } of reactions.values()) {
        for (const { cancelOn } of schedules) {
          for (const rule of cancelOn) {
            const name = ruleName(rule.key, rule.eventType);
            if (marks.has(name)) continue;
            marks.set(name, 0);
            yield readCancelMark(tx, tenant, rule).then((mark) => void marks.set(name, mark));
          }
        }
      }
    }
  }
}
