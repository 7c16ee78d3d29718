/**
 * Appends what an event sets off to its transaction: outbox entries and scheduled events. It
 * also cancels the scheduled events that the event cancels. See docs/reference/reactions.md.
 *
 * All reads come before all writes, and writes that share a transaction see each other's
 * effects in their order.
 */

import { eventId } from "../../domain/event.ts";
import { limits } from "../../domain/limits.ts";
import type { CancelRule } from "../../domain/reaction/action.ts";
import type {
  OutboxPlace,
  OutboxWork,
  SagasEntry,
  WaitingEntry,
} from "../../domain/reaction/outbox_entry.ts";
import type { Steps } from "../../domain/fairness/pieces.ts";
import { splitStreamKey } from "../../domain/identifier.ts";
import type { Bytes, Transaction } from "../../kv/engine.ts";
import { putEntry, signalOutbox } from "../../store/reactions/outbox.ts";
import { encodeEntry, leanEntry } from "../../store/reactions/entry_bytes.ts";
import { type EventPlace, noteImplied, type ScheduleEnd } from "../../store/effects.ts";
import {
  cancelledBy,
  moveCancelMark,
  removeSchedule,
  ruleName,
  type ScheduleRecord,
  storeSchedule,
} from "../../store/reactions/schedules.ts";
import { appendDirect, type DirectStreams } from "./direct_events.ts";
import type {
  PreparedEntry,
  PreparedReactions,
  PreparedSchedule,
  PreparedWrite,
} from "./prepared_write.ts";
import type { ReactionState } from "./reaction_state.ts";
import { claimReactions } from "./root_claims.ts";
import { TextSet } from "../../domain/lookup/text_map.ts";

/** What the events of a write have set off, as far as it has to be done or counted. */
export interface AppendedReactions {
  /** Entries put into the outbox. */
  readonly works: readonly OutboxWork[];
  /** Implied events that were written directly. */
  readonly direct: number;
  /** Whether something was left out because the budget of its root is spent. */
  readonly isRootSpent: boolean;
  /** Events that were scheduled. */
  readonly scheduled: number;
}

export const NO_REACTIONS: AppendedReactions = {
  works: [],
  direct: 0,
  isRootSpent: false,
  scheduled: 0,
};

/** Events, entries or schedules of one step. */
const ADDED_PER_STEP = 64;
/** Bytes of schedules that are encoded in one step, and what the last of them is above that. */
const STEP_BYTES_MAX = 32 * 1024;

/**
 * Appends what the events of a write set off, step by step. `firsts` holds the index of the first
 * event of each target, and `direct` the streams to which implied events may be appended directly.
 */
export function* appendReactionSteps(
  tx: Transaction,
  state: ReactionState,
  write: PreparedWrite,
  firsts: readonly number[],
  direct: DirectStreams,
): Steps<AppendedReactions> {
  const works: OutboxWork[] = [];
  let [directCount, scheduled, bytes, isRootSpent] = [0, 0, 0, false];
  for (const [at, { key: stream, aggregateType, events, reactions }] of write.targets.entries()) {
    for (const [offset, { type }] of events.entries()) {
      const { watched } = state;
      const place = { tenant: state.tenant, stream, index: firsts[at]! + offset, number: 0 };
      const own = claimed(state, write, reactions?.get(offset));
      if (own?.isRootSpent) isRootSpent = true;
      const watchedName = `${aggregateType}.${type}`;
      if (watched.cancels.has(watchedName)) {
        const end = cancelledBy(
          { key: stream, eventType: type },
          write.nowMs,
          eventId(place.index),
        );
        cancelPending(tx, state, { key: stream, eventType: type }, end);
      }
      const entries: PreparedEntry[] = [];
      const written: EventPlace[] = [];
      for (const entry of own?.entries ?? []) {
        const index = appendDirect(direct, watched, place, entry);
        if (index === undefined) entries.push(entry);
        else written.push({ stream: entry.entry.emission.key, index });
        if (isStepOver(entries.length + written.length)) yield;
      }
      if (written.length > 0) {
        noteImplied(tx, state.tenant, place, written);
        directCount += written.length;
      }
      for (const [number, entry] of entries.entries()) {
        works.push(putReady(tx, { ...place, number }, entry));
        if (isStepOver(works.length)) yield;
      }
      if (watched.sagas.has(watchedName)) {
        works.push(putSagas(tx, write, { ...place, number: entries.length }, type));
      }
      for (const schedule of own?.schedules ?? []) {
        addSchedule(tx, state, schedule, place, type);
        bytes += schedule.bytes;
        if (!isStepOver(++scheduled) && bytes < STEP_BYTES_MAX) continue;
        bytes = 0;
        yield;
      }
      if (isStepOver(offset + 1)) yield;
    }
  }
  if (write.ownWaitMs === 0 && works.length > 0) signalOutbox(tx);
  return { works, direct: directCount, isRootSpent, scheduled };
}

function isStepOver(added: number): boolean {
  return added % ADDED_PER_STEP === 0;
}

/**
 * Limits reactions to the budget of their root. A client's write was checked when it was
 * prepared.
 */
function claimed(
  { claims }: ReactionState,
  write: PreparedWrite,
  own: PreparedReactions | undefined,
): PreparedReactions & { readonly isRootSpent?: boolean } | undefined {
  if (own === undefined || write.root === undefined) return own;
  return claimReactions(claims!, write, own);
}

function putReady(
  tx: Transaction,
  place: OutboxPlace,
  { entry, sinceMs, waitMs, tries, value: ready }: WaitingEntry & { readonly value?: Bytes },
): OutboxWork {
  const waiting: WaitingEntry = { entry, sinceMs, waitMs, tries };
  const value = ready ?? encodeEntry(waiting);
  putEntry(tx, place, value);
  return { place, bytes: value.length, ...waiting, entry: leanEntry(entry, value) };
}

/** Puts the entry that shows an event of this type to sagas. */
function putSagas(
  tx: Transaction,
  write: PreparedWrite,
  place: OutboxPlace,
  eventType: string,
): OutboxWork {
  const { nowMs: sinceMs, ownWaitMs: waitMs, requestId } = write;
  const root = write.kept ?? (write.impliedCount > 1 ? { first: write.impliedCount } : undefined);
  const plain = { kind: "sagas", eventType, requestId } as const;
  const entry: SagasEntry = root === undefined ? plain : { ...plain, root };
  return putReady(tx, place, { entry, sinceMs, waitMs, tries: 0 });
}

/** The subject under which a scheduled event is recorded as fired or cancelled. */
export function scheduleSubject(id: string): string {
  return `scheduled ${id}`;
}

/** Cancels one by one up to the limit of a transaction; beyond it, the rule's mark cancels all. */
function cancelPending(
  tx: Transaction,
  state: ReactionState,
  rule: CancelRule,
  end: ScheduleEnd,
): void {
  const name = ruleName(rule.key, rule.eventType);
  if (!state.pending.has(name)) return;
  const records = state.pending.get(name);
  state.pending.delete(name);
  if (records?.length === 0) return;
  state.cancelled += records?.length ?? 0;
  if (records === undefined || state.cancelled > limits.cancelledOneByOneMax) {
    const mark = (state.marks.get(name) ?? 0) + 1;
    state.marks.set(name, mark);
    state.moved.add(name);
    return moveCancelMark(tx, state.tenant, rule, mark);
  }
  for (const record of records) {
    const subject = scheduleSubject(record.id);
    if (!state.gone.has(subject)) removeSchedule(tx, state.tenant, record, end);
    state.gone.add(subject);
  }
}

function addSchedule(
  tx: Transaction,
  state: ReactionState,
  { bytes: _, ...schedule }: PreparedSchedule,
  { stream, index }: OutboxPlace,
  eventType: string,
): void {
  const cancelOn = schedule.cancelOn.map((rule) => (
    { ...rule, mark: state.marks.get(ruleName(rule.key, rule.eventType)) ?? 0 }
  ));
  const by = { key: stream, eventType, streamId: eventId(index) };
  const record: ScheduleRecord = { ...schedule, cancelOn, by };
  storeSchedule(tx, state.tenant, record);
  if (cancelOn.length === 0) return;
  for (const { key, eventType } of cancelOn) {
    watchCancel(state, `${splitStreamKey(key).type}.${eventType}`);
  }
  // A later event of the same transaction may cancel this schedule.
  for (const { key, eventType } of cancelOn) {
    const name = ruleName(key, eventType);
    if (!state.pending.has(name)) state.pending.set(name, []);
    state.pending.get(name)?.push(record);
  }
}

/** The set is copied once; all that the transaction adds goes into the copy. */
function watchCancel(state: ReactionState, name: string): void {
  if (state.watched.cancels.has(name)) return;
  if (state.grownCancels === undefined) {
    state.grownCancels = new TextSet(state.watched.cancels);
    state.watched = { ...state.watched, cancels: state.grownCancels };
  }
  state.grownCancels.add(name);
}
