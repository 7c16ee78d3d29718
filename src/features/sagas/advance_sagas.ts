/**
 * Advances sagas on events that were written and on timers that are due. See
 * docs/reference/sagas.md.
 *
 * A transition commits together with the events it writes and with the removal of its cause (an
 * outbox entry or a timer). So each transition happens exactly once, whichever process tries it
 * and however often.
 */

import { count, countErrors, type Counters, newCounters } from "../../domain/measures/counters.ts";
import { newBudget } from "../../domain/budget.ts";
import type { ErrorRecord } from "../../domain/error_record.ts";
import { decodeEvent, eventId, type StoredEvent } from "../../domain/event.ts";
import { limits } from "../../domain/limits.ts";
import {
  entryRoot,
  type OutboxPlace,
  type OutboxWork,
  type SagasEntry,
} from "../../domain/reaction/outbox_entry.ts";
import { isEndState, type SagaNews } from "../../domain/saga/instance.ts";
import { sagaIdOf } from "../../domain/saga/saga_id.ts";
import { splitStreamKey, type StreamKey } from "../../domain/identifier.ts";
import type { Host } from "../../host.ts";
import type { Engine, Transaction } from "../../kv/engine.ts";
import { EMPTY_SPEC, type SpecCache } from "../base/current_spec.ts";
import { storeErrorRecord } from "../../store/error_records.ts";
import { clearEntry, findArrival, hasEntry } from "../../store/reactions/outbox.ts";
import { clearAside } from "../../store/reactions/paused_reactions.ts";
import {
  clearSagaWaits,
  isSagaStarted,
  listSagaWaits,
  readSaga,
  type SagaRecord,
  saveSaga,
} from "../../store/sagas/sagas.ts";
import { isCurrentSpec } from "../../store/specs.ts";
import { readEvent } from "../../store/streams/stream_events.ts";
import { clearTimer, setTimer, type Timer } from "../../store/timers.ts";
import type { WatchedTypesReader } from "../../store/reactions/watched_types.ts";
import { newOutsideAnswers, type OutsideAsker } from "../writes/ask_outside.ts";
import { makeErrorRecord } from "../base/record_error.ts";
import {
  advanceSaga,
  beginSaga,
  giveUpSaga,
  openSagaTools,
  openSagaWork,
  SAGA_BYTES_MAX,
  sagaTimer,
  type SagaWork,
} from "./saga_transition.ts";

/** Sagas that one transaction advances at most. */
const SAGAS_MAX = 200;
/** After this many events, a transaction takes up no further saga. It yields between sagas. */
const EVENTS_MAX = 200;
/** After this time, too; a transaction of the distributed engine has five seconds. */
const WORK_MS_MAX = 1_500;
/** Attempts while the spec keeps being replaced: beyond this, each one met another deploy. */
const SPEC_TRIES_MAX = 3;

/** Why a saga advances: an event has to be shown to it, or its timer is due. */
export type SagaCause =
  /** An outbox entry of kind `sagas`. */
  | { readonly kind: "event"; readonly work: OutboxWork }
  /** A timer of kind `saga`. */
  | { readonly kind: "timer"; readonly timer: Timer };

export interface Advanced {
  /** Causes that are done, counted from the first. The others are untouched: they did not fit. */
  readonly done: number;
  /** Outbox entries left by the events that were written. */
  readonly outbox: readonly OutboxWork[];
  /** What the transaction did, for the counters. */
  readonly work: Pick<SagaWork, "events" | "states" | "errors">;
}

export interface SagaAdvancer {
  /**
   * Processes the causes in order, in ONE transaction of one tenant. Causes of the same stream
   * must come in the order of its events. `ownWaitMs` applies to the outbox entries that the
   * written events leave. Throws if nothing could be committed; the caller may then retry with
   * fewer causes.
   */
  advance(tenant: number, causes: readonly SagaCause[], ownWaitMs: number): Promise<Advanced>;
  /**
   * Delays a timer by `pauseMs` after its firing has failed; after `limits.reactionTriesMax`
   * failures the saga fails instead. Returns the number of failures, or undefined if there is
   * no such timer.
   */
  postpone(timer: Timer, reason: string, pauseMs: PauseMs): Promise<number | undefined>;
  /** Ends a saga as failed on an operator's request. Returns false if it is not running. */
  discard(tx: Transaction, tenant: number, id: string, order: DiscardOrder): Promise<boolean>;
}

export interface DiscardOrder {
  readonly by: string;
  readonly nowMs: number;
}

/** The pause in milliseconds after this many failures. */
export type PauseMs = (tries: number) => number;

export interface SagaAdvancerParts {
  readonly engine: Engine;
  readonly host: Host;
  readonly specs: SpecCache;
  readonly watched: WatchedTypesReader;
  readonly outside: OutsideAsker;
  readonly counters?: Counters;
}

export function createSagaAdvancer(
  { engine, host, specs, watched, outside, counters = newCounters() }: SagaAdvancerParts,
): SagaAdvancer {
  const tools = openSagaTools(host, watched);

  async function advance(
    tenant: number,
    causes: readonly SagaCause[],
    ownWaitMs: number,
  ): Promise<Advanced> {
    for (let tries = 0; tries < SPEC_TRIES_MAX; tries++) {
      const spec = await specs.current(tenant);
      const moment = { nowMs: host.nowMs(), ownWaitMs };
      const advanced = await outside.transact(tenant, spec, async (tx, answers) => {
        if (!await isCurrentSpec(tx, tenant, spec.hash)) return undefined;
        return await doCauses(openSagaWork(tools, tx, { tenant, spec, moment, answers }), causes);
      });
      if (advanced !== undefined) {
        countAdvanced(counters, advanced.work);
        return advanced;
      }
      specs.forget(tenant);
    }
    throw new Error("Another spec is current each time it is asked for");
  }

  async function postpone(
    timer: Timer,
    reason: string,
    pauseMs: PauseMs,
  ): Promise<number | undefined> {
    const { tenant } = timer;
    const moment = { nowMs: host.nowMs(), ownWaitMs: 0 };
    const { timerTries, work } = await engine.transact(async (tx) => {
      const work = openSagaWork(tools, tx, {
        tenant,
        spec: EMPTY_SPEC,
        moment,
        answers: newOutsideAnswers(),
      });
      clearTimer(tx, timer);
      const record = await readSaga(tx, tenant, timer.id);
      if (record?.timerMs !== timer.dueMs) return { work };
      const timerTries = (record.timerTries ?? 0) + 1;
      if (timerTries >= limits.reactionTriesMax) {
        await giveUpSaga(work, record, reason);
      } else {
        const timerMs = moment.nowMs + pauseMs(timerTries);
        setTimer(tx, sagaTimer(tenant, timer.id, timerMs));
        saveSaga(tx, tenant, record, { ...record, timerMs, timerTries });
      }
      return { timerTries, work };
    });
    countAdvanced(counters, work);
    return timerTries;
  }

  async function discard(
    tx: Transaction,
    tenant: number,
    id: string,
    { by, nowMs }: DiscardOrder,
  ): Promise<boolean> {
    const record = await readSaga(tx, tenant, id);
    if (record === undefined || isEndState(record.instance.state)) return false;
    const moment = { nowMs, ownWaitMs: 0 };
    const work = openSagaWork(tools, tx, {
      tenant,
      spec: EMPTY_SPEC,
      moment,
      answers: newOutsideAnswers(),
    });
    await giveUpSaga(work, record, `discarded by '${by}'`, false);
    if (record.timerMs !== undefined) clearAside(tx, sagaTimer(tenant, id, record.timerMs));
    return true;
  }

  return { advance, postpone, discard };
}

function countAdvanced(counters: Counters, { events, states, errors }: Advanced["work"]): void {
  count(counters.eventsWritten, "saga", events);
  for (const state of states) count(counters.sagaTransitions, state);
  countErrors(counters, errors);
}

/** Stops at the first cause that is not done, to keep the order. */
async function doCauses(work: SagaWork, causes: readonly SagaCause[]): Promise<Advanced> {
  let done = 0;
  for (const cause of causes) {
    if (isFull(work)) break;
    await work.pieces.rest();
    const isOver = cause.kind === "event"
      ? await showEvent(work, cause.work)
      : await fireTimer(work, cause.timer);
    if (!isOver) break;
    done++;
  }
  return { done, outbox: work.outbox, work };
}

/** Half of the bytes are reserved for what a single saga may still need. */
function isFull({ bytes, sagas, events, tools, startedMs }: SagaWork): boolean {
  if (sagas > 0 && tools.host.monotonicMs() - startedMs > WORK_MS_MAX) return true;
  return sagas >= SAGAS_MAX || events >= EVENTS_MAX || bytes > SAGA_BYTES_MAX / 2;
}

/** Returns false, and keeps the entry, if not every saga concerned fits this transaction. */
async function showEvent(work: SagaWork, shown: OutboxWork): Promise<boolean> {
  const { tx, tenant, moment: { nowMs } } = work;
  const { place, entry } = shown;
  if (entry.kind !== "sagas") return true;
  // Read in parallel: on a networked store each read waits for a round trip.
  const [isThere, event] = await Promise.all([
    hasEntry(tx, place),
    readEventAt(tx, tenant, place.stream, place.index),
  ]);
  if (!isThere) return true;
  // An event that was erased since is shown to no saga.
  if (event?.type === entry.eventType) {
    const arrived = { event, streamId: eventId(place.index) };
    const isShown = await tellWaiting(work, place, { kind: "event", arrived, nowMs });
    if (!isShown || !await startTriggered(work, shown, entry, event)) return false;
  }
  clearEntry(tx, shown);
  return true;
}

/**
 * Shows the event to the sagas that wait for it, the longest-waiting first. Returns false if
 * they do not all fit.
 */
async function tellWaiting(
  work: SagaWork,
  { stream, index }: OutboxPlace,
  news: Extract<SagaNews, { readonly kind: "event" }>,
): Promise<boolean> {
  const { tx, tenant } = work;
  const eventType = news.arrived.event.type;
  const room = SAGAS_MAX - work.sagas;
  const waits = await listSagaWaits(tx, tenant, { stream, eventType, index }, room + 1);
  for (const wait of waits) {
    if (isFull(work)) return false;
    work.sagas++;
    const record = await readSaga(tx, tenant, wait.sagaId);
    if (record !== undefined && await tellFirst(work, record, news, wait.from < index)) continue;
    // The saga is gone or the event does not concern it. If the wait stayed, the outbox entry
    // would never be done.
    clearSagaWaits(tx, tenant, { stream, eventTypes: [eventType] }, wait);
  }
  return true;
}

/**
 * Shows the saga this event, or an earlier awaited one that it has not seen yet. The order of
 * the events decides, not the order in which workers reach them.
 */
async function tellFirst(
  work: SagaWork,
  record: SagaRecord,
  news: SagaNews,
  mayBeLate: boolean,
): Promise<boolean> {
  const first = mayBeLate ? await findArrived(work, record) : undefined;
  return await advanceSaga(work, record, first ?? news);
}

async function startTriggered(
  work: SagaWork,
  { place }: OutboxWork,
  entry: SagasEntry,
  event: StoredEvent,
): Promise<boolean> {
  const { requestId } = entry;
  const { type } = splitStreamKey(place.stream);
  const budget = newBudget(limits.eventReactionWorkBytesMax);
  for (const saga of work.spec.sagas.values()) {
    const { aggregateType, eventType, holds } = saga.trigger;
    if (aggregateType !== type || eventType !== event.type) continue;
    await work.pieces.rest();
    if (!holds(event, budget)) continue;
    const id = sagaIdOf(saga.name, place, event);
    if (await isSagaStarted(work.tx, work.tenant, id)) continue;
    if (isFull(work)) return false;
    work.sagas++;
    if ((event.metadata.implied_by?.depth ?? 0) >= limits.implicationDepthMax) {
      reportDepth(work, saga.name, event, requestId);
      continue;
    }
    const trigger = { event, streamId: eventId(place.index) };
    await beginSaga(work, saga, { id, trigger, requestId, root: entryRoot(place, entry) });
  }
  if (budget.left < 0) reportWork(work, event, requestId);
  return true;
}

function reportDepth(work: SagaWork, saga: string, event: StoredEvent, requestId: string): void {
  const { implicationDepthMax: depth } = limits;
  report(work, event, requestId, {
    error_type: "implication_depth_exceeded",
    message: `Events can set off other events to depth ${depth}; saga '${saga}' is not started`,
    context: { saga, depth },
  });
}

/** The conditions that came too late for the budget of their event do not hold. */
function reportWork(work: SagaWork, event: StoredEvent, requestId: string): void {
  report(work, event, requestId, {
    error_type: "implication_failed",
    message: "The conditions of the sagas that this event may start take too much work together; " +
      "those judged last do not hold. Compare less, or declare fewer sagas with such conditions",
    context: {},
  });
}

function report(
  work: SagaWork,
  { key: event_key, type: event_type }: StoredEvent,
  requestId: string,
  fault: Pick<ErrorRecord, "error_type" | "message" | "context">,
): void {
  const context = { operation: "start_saga", event_key, event_type, ...fault.context };
  const error = makeErrorRecord(work.tools.host, { ...fault, context, request_id: requestId });
  storeErrorRecord(work.tx, work.tenant, error);
  work.errors.push(error);
}

/** Always returns true: a timer that is not due by this process's clock stays where it is. */
async function fireTimer(work: SagaWork, timer: Timer): Promise<true> {
  const { tx, tenant, moment: { nowMs } } = work;
  if (timer.dueMs > nowMs) return true;
  work.sagas++;
  clearTimer(tx, timer);
  const record = await readSaga(tx, tenant, timer.id);
  // A timer that no longer belongs to the saga is only removed.
  if (record === undefined || record.timerMs !== timer.dueMs) return true;
  await advanceSaga(work, record, await findArrived(work, record) ?? { kind: "timeout", nowMs });
  return true;
}

/** The first awaited event that is written but has not been shown to the saga yet. */
async function findArrived(
  { tx, tenant, pieces, moment: { nowMs } }: SagaWork,
  { instance: { waiting }, awaitsFrom }: SagaRecord,
): Promise<SagaNews | undefined> {
  if (waiting?.kind !== "event" || awaitsFrom === undefined) return undefined;
  const index = await findArrival(tx, tenant, { ...waiting, from: awaitsFrom }, pieces);
  if (index === undefined) return undefined;
  const event = await readEventAt(tx, tenant, waiting.key, index);
  if (event === undefined || !waiting.eventTypes.includes(event.type)) return undefined;
  return { kind: "event", arrived: { event, streamId: eventId(index) }, nowMs };
}

/** Unguarded, because events do not change. */
async function readEventAt(
  tx: Transaction,
  tenant: number,
  stream: StreamKey,
  index: number,
): Promise<StoredEvent | undefined> {
  const found = await readEvent(tx.unguarded, tenant, stream, { index });
  return found && decodeEvent(found.raw);
}
