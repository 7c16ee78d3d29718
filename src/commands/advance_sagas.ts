/**
 * Moves sagas on: by events that were written and by timers that are due. Decisions, section 13.
 *
 * A transition commits with the events it writes and with the end of what it came from: so whoever
 * tries, and however often, each happens once.
 */

import { count, countErrors, type Counters, newCounters } from "../domain/counters.ts";
import { decodeEvent, eventId, type StoredEvent } from "../domain/event.ts";
import { limits } from "../domain/limits.ts";
import {
  entryRoot,
  type OutboxPlace,
  type OutboxWork,
  type SagasEntry,
} from "../domain/reaction/outbox_entry.ts";
import { isEndState, type SagaNews } from "../domain/saga/instance.ts";
import { sagaIdOf } from "../domain/saga/saga_id.ts";
import { splitStreamKey, type StreamKey } from "../domain/stream_key.ts";
import type { Host } from "../host.ts";
import type { Engine, Transaction } from "../kv/engine.ts";
import { EMPTY_SPEC, type SpecCache } from "../queries/current_spec.ts";
import { storeErrorRecord } from "../store/error_records.ts";
import { clearEntry, hasEntry } from "../store/outbox.ts";
import { clearAside } from "../store/paused_reactions.ts";
import { findArrival } from "../store/saga_arrivals.ts";
import {
  clearSagaWaits,
  isSagaStarted,
  listSagaWaits,
  readSaga,
  type SagaRecord,
  saveSaga,
} from "../store/sagas.ts";
import { isCurrentSpec } from "../store/specs.ts";
import { readEvent } from "../store/stream_events.ts";
import { clearTimer, setTimer, type Timer } from "../store/timers.ts";
import type { WatchedTypesReader } from "../store/watched_types.ts";
import { newOutsideAnswers, type OutsideAsker } from "./ask_outside.ts";
import { makeErrorRecord } from "./record_error.ts";
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

/** Sagas that one transaction moves on at most. */
const SAGAS_MAX = 200;
/** Events that one transaction writes before it takes up another saga: it rests between them. */
const EVENTS_MAX = 200;
/** A spec that was replaced is asked for again; more than that is another deploy each time. */
const SPEC_TRIES_MAX = 3;

/** Why sagas move on: an event is to be shown to them, or the time of one is over. */
export type SagaCause =
  /** An outbox entry of kind `sagas`. */
  | { readonly kind: "event"; readonly work: OutboxWork }
  /** A timer of kind `saga`. */
  | { readonly kind: "timer"; readonly timer: Timer };

export interface Advanced {
  /** How many are over, from the first on; the rest is as it was, for there was no more room. */
  readonly done: number;
  /** What the events written have left in the outbox. */
  readonly outbox: readonly OutboxWork[];
  /** What it was, to be counted. */
  readonly work: Pick<SagaWork, "events" | "states" | "errors">;
}

export interface SagaAdvancer {
  /**
   * Does each cause in turn, in ONE transaction of one tenant. Causes of one stream come in the
   * order of its events. `ownWaitMs` is for what the events written leave in the outbox. Throws
   * where nothing of it could be committed; then less may be tried.
   */
  advance(tenant: number, causes: readonly SagaCause[], ownWaitMs: number): Promise<Advanced>;
  /**
   * Moves a timer whose firing has failed `pauseMs` on; after `limits.reactionTriesMax` failures
   * the saga has failed. Gives how often it has failed; undefined where there is no such timer.
   */
  postpone(timer: Timer, reason: string, pauseMs: PauseMs): Promise<number | undefined>;
  /** Ends a saga as failed because an operator says so. False where it does not run. */
  discard(tx: Transaction, tenant: number, id: string, by: string, nowMs: number): Promise<boolean>;
}

/** The pause after so many failures. */
export type PauseMs = (tries: number) => number;

export function createSagaAdvancer(
  engine: Engine,
  host: Host,
  specs: SpecCache,
  watched: WatchedTypesReader,
  outside: OutsideAsker,
  counters: Counters = newCounters(),
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
        return await doCauses(openSagaWork(tools, tx, tenant, spec, moment, answers), causes);
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
      const work = openSagaWork(tools, tx, tenant, EMPTY_SPEC, moment, newOutsideAnswers());
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
    by: string,
    nowMs: number,
  ): Promise<boolean> {
    const record = await readSaga(tx, tenant, id);
    if (record === undefined || isEndState(record.instance.state)) return false;
    const moment = { nowMs, ownWaitMs: 0 };
    const work = openSagaWork(tools, tx, tenant, EMPTY_SPEC, moment, newOutsideAnswers());
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

/** One that is not over ends it, so that the order is kept. */
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

/** Half is left for what a single saga may still need. */
function isFull({ bytes, sagas, events }: SagaWork): boolean {
  return sagas >= SAGAS_MAX || events >= EVENTS_MAX || bytes > SAGA_BYTES_MAX / 2;
}

/** False where there was no room for all whom it concerns: the entry stays. */
async function showEvent(work: SagaWork, shown: OutboxWork): Promise<boolean> {
  const { tx, tenant, moment: { nowMs } } = work;
  const { place, entry } = shown;
  if (entry.kind !== "sagas") return true;
  // At once: on a network each read waits for its reply.
  const [isThere, event] = await Promise.all([
    hasEntry(tx, place),
    readEventAt(tx, tenant, place.stream, place.index),
  ]);
  if (!isThere) return true;
  // Erased since: then it is shown to nobody.
  if (event?.type === entry.eventType) {
    const arrived = { event, streamId: eventId(place.index) };
    const isShown = await tellWaiting(work, place, { kind: "event", arrived, nowMs });
    if (!isShown || !await startTriggered(work, shown, entry, event)) return false;
  }
  clearEntry(tx, shown);
  return true;
}

/** Those that waited longest are told first. False where there was no room for all of them. */
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
    // Nobody is there any more: told again each time, the entry would never end.
    clearSagaWaits(tx, tenant, stream, [eventType], wait);
  }
  return true;
}

/**
 * Tells a saga of the event, or of one before it that nobody has shown yet: what counts is which
 * came first, not which of them a worker has come to first.
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
  for (const saga of work.spec.sagas.values()) {
    const { aggregateType, eventType, holds } = saga.trigger;
    if (aggregateType !== type || eventType !== event.type || !holds(event)) continue;
    const id = sagaIdOf(saga.name, place, event);
    if (await isSagaStarted(work.tx, work.tenant, id)) continue;
    if (isFull(work)) return false;
    work.sagas++;
    if ((event.metadata.implied_by?.depth ?? 0) >= limits.implicationDepthMax) {
      reportDepth(work, saga.name, event, requestId);
      continue;
    }
    const trigger = { event, streamId: eventId(place.index) };
    await beginSaga(work, saga, id, trigger, requestId, entryRoot(place, entry));
  }
  return true;
}

function reportDepth(work: SagaWork, saga: string, event: StoredEvent, requestId: string): void {
  const { implicationDepthMax: depth } = limits;
  const error = makeErrorRecord(work.tools.host, {
    error_type: "implication_depth_exceeded",
    message: `Events that follow from events go to depth ${depth}; saga '${saga}' is not started`,
    context: {
      operation: "start_saga",
      event_key: event.key,
      event_type: event.type,
      saga,
      depth,
    },
    request_id: requestId,
  });
  storeErrorRecord(work.tx, work.tenant, error);
  work.errors.push(error);
}

/** Always over: a timer that is not due by this process's clock stays where it is. */
async function fireTimer(work: SagaWork, timer: Timer): Promise<true> {
  const { tx, tenant, moment: { nowMs } } = work;
  if (timer.dueMs > nowMs) return true;
  work.sagas++;
  clearTimer(tx, timer);
  const record = await readSaga(tx, tenant, timer.id);
  // A timer that is not the saga's own any more is just removed.
  if (record === undefined || record.timerMs !== timer.dueMs) return true;
  await advanceSaga(work, record, await findArrived(work, record) ?? { kind: "timeout", nowMs });
  return true;
}

/** The first awaited event that was written and that nobody has shown it yet. */
async function findArrived(
  { tx, tenant, moment: { nowMs } }: SagaWork,
  { instance: { waiting }, awaitsFrom }: SagaRecord,
): Promise<SagaNews | undefined> {
  if (waiting?.kind !== "event" || awaitsFrom === undefined) return undefined;
  const index = await findArrival(tx, tenant, { ...waiting, from: awaitsFrom });
  if (index === undefined) return undefined;
  const event = await readEventAt(tx, tenant, waiting.key, index);
  if (event === undefined || !waiting.eventTypes.includes(event.type)) return undefined;
  return { kind: "event", arrived: { event, streamId: eventId(index) }, nowMs };
}

/** Unguarded: events do not change. */
async function readEventAt(
  tx: Transaction,
  tenant: number,
  stream: StreamKey,
  index: number,
): Promise<StoredEvent | undefined> {
  const found = await readEvent(tx.unguarded, tenant, stream, index);
  return found && decodeEvent(found.raw);
}
