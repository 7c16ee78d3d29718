/**
 * Makes one saga's transition inside a transaction. It writes the saga's events with everything
 * that commits with them, sets its waits and its timer, and stores the new state of the saga.
 * Every transition commits with its event. See docs/reference/sagas.md.
 */

import { assert } from "../../domain/assert.ts";
import type { ErrorRecord } from "../../domain/error_record.ts";
import { decodeEvent, eventId } from "../../domain/event.ts";
import { limits } from "../../domain/limits.ts";
import { type Pieces, runWithin } from "../../domain/fairness/pieces.ts";
import { openTransactionPieces } from "../../domain/fairness/transaction_pieces.ts";
import type { OutboxWork } from "../../domain/reaction/outbox_entry.ts";
import { keptRoot, type Root, rootOf } from "../../domain/reaction/root.ts";
import { createRecentTexts, type RecentMap } from "../../domain/recent_map.ts";
import type { CompiledSaga } from "../../domain/saga/definition.ts";
import type {
  PlacedEvent,
  SagaEffect,
  SagaNews,
  SagaPhase,
  SagaState,
  SagaTransition,
} from "../../domain/saga/instance.ts";
import { abandonSaga, startSaga, stepSaga } from "../../domain/saga/step.ts";
import type { CompiledSpec } from "../../domain/spec/compiled.ts";
import { compileKeptSagaSteps } from "../../domain/spec/sagas/saga.ts";
import type { Host } from "../../host.ts";
import type { Transaction } from "../../kv/engine.ts";
import { storeErrorRecord } from "../../store/error_records.ts";
import {
  clearSagaWaits,
  keepSagaDefinition,
  readSagaDefinition,
  readSagaStepNames,
  type SagaRecord,
  saveSaga,
  setSagaWaits,
} from "../../store/sagas/sagas.ts";
import { readHead } from "../../store/streams/streams.ts";
import { clearTimer, setTimer, type Timer } from "../../store/timers.ts";
import type { WatchedTypesReader } from "../../store/reactions/watched_types.ts";
import { appendWrites } from "../writes/append_writes.ts";
import {
  explainRefusal,
  mayPass,
  type OutsideAnswers,
  verdictOf,
  withJudgedState,
} from "../writes/ask_outside.ts";
import {
  type EmissionStamp,
  prepareEmissionSteps,
  type WriteMoment,
} from "../writes/prepare_write.ts";
import { makeErrorRecord } from "../base/record_error.ts";
import { claimSaga } from "../writes/root_claims.ts";

/**
 * Bytes of sagas and their events that one transaction may hold. The first event always fits:
 * even with a saga of the largest size, it stays within the limit of a transaction.
 */
export const SAGA_BYTES_MAX = limits.writeStoredBytesMax / 4;
/** Memory of compiled definitions, of sagas that outlive a deploy. */
const DEFINITIONS_BYTES_MAX = 32 * 1024 * 1024;
/** About what a character of a definition takes when compiled, and the name of a singleton. */
const BYTES_OF_CHARACTER = 32;
const BYTES_OF_NAME = 72;
/** Definitions whose step names are remembered, for sagas that are ended one after the other. */
const STEP_NAMES_KEPT = 200;
const ACTORS: Readonly<Record<SagaPhase, string>> = {
  emit: "saga_coordinator",
  compensate: "saga_compensator",
};

/** What every transition needs. */
export interface SagaTools {
  readonly host: Host;
  readonly watched: WatchedTypesReader;
  /** By hash. */
  readonly definitions: RecentMap<string, CompiledSaga>;
  readonly stepNames: RecentMap<string, readonly string[]>;
}

export function openSagaTools(host: Host, watched: WatchedTypesReader): SagaTools {
  const definitions = createRecentTexts<CompiledSaga>(
    DEFINITIONS_BYTES_MAX,
    bytesOfDefinition,
  );
  const stepNames = createRecentTexts<readonly string[]>(STEP_NAMES_KEPT);
  return { host, watched, definitions, stepNames };
}

/** About the memory of a compiled definition, which has all singletons of its spec. */
function bytesOfDefinition({ kept: { saga, singletons } }: CompiledSaga): number {
  return BYTES_OF_CHARACTER * JSON.stringify(saga).length + BYTES_OF_NAME * singletons.length;
}

/** One transaction that advances sagas. */
export interface SagaWork {
  readonly tools: SagaTools;
  readonly tx: Transaction;
  readonly tenant: number;
  /** The current spec: events are checked against it, and new sagas start under it. */
  readonly spec: CompiledSpec;
  readonly moment: WriteMoment;
  /** What modules have answered about the events so far. */
  readonly answers: OutsideAnswers;
  /** Bytes stored so far. */
  bytes: number;
  /** Sagas told or started so far, and events written so far. */
  sagas: number;
  events: number;
  /** For each transition so far, the state in which it left its saga. */
  readonly states: SagaState[];
  /** Error records stored so far. */
  readonly errors: ErrorRecord[];
  /** Outbox entries left by the events so far. */
  readonly outbox: OutboxWork[];
  /** Yields now and then, because one event may concern hundreds of sagas. */
  readonly pieces: Pieces;
  readonly startedMs: number;
}

export interface SagaScene {
  readonly tenant: number;
  readonly spec: CompiledSpec;
  readonly moment: WriteMoment;
  readonly answers: OutsideAnswers;
}

export function openSagaWork(
  tools: SagaTools,
  tx: Transaction,
  { tenant, spec, moment, answers }: SagaScene,
): SagaWork {
  const sums = { bytes: 0, sagas: 0, events: 0 };
  const pieces = openTransactionPieces(tools.host, tenant);
  const left = { states: [], errors: [], outbox: [] };
  const startedMs = tools.host.monotonicMs();
  return { tools, tx, tenant, spec, moment, answers, pieces, startedMs, ...sums, ...left };
}

export interface SagaBeginning {
  readonly id: string;
  readonly trigger: PlacedEvent;
  readonly requestId: string;
  readonly root: Root;
}

/** Starts a saga with its first step. The caller has checked that it was not started before. */
export async function beginSaga(
  work: SagaWork,
  saga: CompiledSaga,
  { id, trigger, requestId, root }: SagaBeginning,
): Promise<void> {
  const { tx, tenant, moment, pieces } = work;
  if (!await claimSteps(work, saga, { trigger, requestId, root })) return;
  work.bytes += await keepSagaDefinition(tx, tenant, saga.hash, saga.kept);
  const transition = await runWithin(pieces, startSaga(saga, id, trigger, moment.nowMs));
  const depth = (trigger.event.metadata.implied_by?.depth ?? 0) + 1;
  await settle(
    work,
    saga,
    {
      before: undefined,
      start: { instance: transition.instance, depth, requestId, root: keptRoot(root) },
      first: transition,
    },
  );
}

interface StepsClaim {
  readonly trigger: PlacedEvent;
  readonly requestId: string;
  readonly root: Root;
}

/** Whether the root's budget covers everything that the saga may write. */
async function claimSteps(
  work: SagaWork,
  { name, steps }: CompiledSaga,
  { trigger: { event: { key: eventKey, type: eventType } }, requestId, root }: StepsClaim,
): Promise<boolean> {
  const { tx, tenant, moment: { nowMs } } = work;
  const start = { nowMs, name, steps: steps.length, requestId, eventKey, eventType };
  const { isGranted, errors } = await claimSaga(tx, tenant, root, start);
  work.errors.push(...errors);
  return isGranted;
}

/** Tells a saga its news. Returns false and changes nothing if the news does not concern it. */
export async function advanceSaga(
  work: SagaWork,
  record: SagaRecord,
  news: SagaNews,
): Promise<boolean> {
  const saga = await definitionOf(work, record);
  const transition = await runWithin(work.pieces, stepSaga(saga, record.instance, news));
  if (transition.instance === record.instance) return false;
  await settle(work, saga, { before: record, start: record, first: transition });
  return true;
}

/**
 * Fails a saga that cannot or must not advance any more. With `isReported` false (a discard by
 * an operator), no error record is stored.
 */
export async function giveUpSaga(
  work: SagaWork,
  record: SagaRecord,
  reason: string,
  isReported = true,
): Promise<void> {
  const { tools, tx, tenant, moment } = work;
  const { instance } = record;
  const { stepNames } = tools;
  const names = stepNames.get(instance.definition) ??
    await readSagaStepNames(tx, tenant, instance.definition);
  stepNames.set(instance.definition, names);
  const index = instance.waiting?.step ?? 0;
  const step = names[index] ?? String(index);
  const transition = abandonSaga(instance, step, reason, moment.nowMs);
  let ended: SagaRecord = { ...record, instance: transition.instance };
  for (const effect of transition.effects) {
    if (effect.kind === "emit" || (effect.kind === "report" && !isReported)) continue;
    ended = await applyEffect(work, ended, effect);
  }
  work.bytes += saveSaga(tx, tenant, record, ended);
  work.states.push(ended.instance.state);
}

async function definitionOf(
  work: SagaWork,
  { instance: { name, definition: hash } }: SagaRecord,
): Promise<CompiledSaga> {
  const { tools, tx, tenant, spec } = work;
  const current = spec.sagas.get(name);
  if (current?.hash === hash) return current;
  const known = tools.definitions.get(hash);
  if (known !== undefined) return known;
  const kept = await readSagaDefinition(tx, tenant, hash);
  assert(kept !== undefined, "what a saga was started under is kept");
  const saga = await runWithin(work.pieces, compileKeptSagaSteps(kept, hash));
  tools.definitions.set(hash, saga);
  return saga;
}

interface SagaToSettle {
  readonly before: SagaRecord | undefined;
  readonly start: SagaRecord;
  readonly first: SagaTransition;
}

/** Carries out the transition's effects, and follows up until no effect has an immediate answer. */
async function settle(
  work: SagaWork,
  saga: CompiledSaga,
  { before, start, first }: SagaToSettle,
): Promise<void> {
  let record: SagaRecord = { ...start, instance: first.instance };
  let { effects } = first;
  for (;;) {
    let news: SagaNews | undefined;
    for (const effect of effects) {
      const rest = work.pieces.rest();
      if (rest !== undefined) await rest;
      if (effect.kind === "emit") news = await writeEvent(work, record, effect);
      else record = await applyEffect(work, record, effect);
    }
    if (news === undefined) break;
    const next = await runWithin(work.pieces, stepSaga(saga, record.instance, news));
    record = { ...record, instance: next.instance };
    effects = next.effects;
  }
  work.bytes += saveSaga(work.tx, work.tenant, before, record);
  work.states.push(record.instance.state);
}

async function writeEvent(
  work: SagaWork,
  { instance, depth, requestId, root: stored }: SagaRecord,
  { emission, phase, step }: Extract<SagaEffect, { readonly kind: "emit" }>,
): Promise<SagaNews> {
  const { tools, tx, tenant, spec, moment, answers } = work;
  const { nowMs } = moment;
  const stamp: EmissionStamp = {
    actor: { type: "system_agent", id: ACTORS[phase] },
    implied_by: { ...instance.trigger, depth },
    saga: { name: instance.name, saga_id: instance.id, step, phase },
  };
  const { key, stream_id } = instance.trigger;
  const request = { emission, stamp, requestId, root: rootOf(stored, key, stream_id) };
  const { host } = tools;
  const preparing = prepareEmissionSteps(host, spec, request, moment, answers.implications);
  const prepared = await runWithin(work.pieces, preparing);
  if (!prepared.ok) return { kind: "unwritten", reason: prepared.message, nowMs };
  let { write } = prepared;
  if (write.bytes > SAGA_BYTES_MAX) {
    const reason = `The event would store ${write.bytes} bytes with what it implies; ` +
      `at most ${SAGA_BYTES_MAX} go into one step of a saga`;
    return { kind: "unwritten", reason, nowMs };
  }
  if (work.events > 0 && work.bytes + write.bytes > SAGA_BYTES_MAX) {
    return { kind: "postponed", nowMs };
  }
  const [target] = write.targets;
  if (target!.judgedAs !== undefined) {
    // The tip includes what this transaction itself has written to the stream.
    const { tip } = await readHead(tx, tenant, target!.key);
    const reason = verdictOf(answers, target!, tip);
    if (reason !== undefined) return { kind: "unwritten", reason, nowMs };
    write = { ...write, targets: [withJudgedState(answers, target!, tip)] };
  }
  const openConditions = write.conditions && answers.openConditions;
  const [outcome] = await appendWrites(tx, tenant, [write], tools.watched, { openConditions });
  assert(outcome !== undefined, "a write that goes alone is judged at once");
  if (!outcome.ok) {
    const reason = explainRefusal(outcome.refusal);
    if (mayPass(outcome.refusal)) throw new Error(reason);
    return { kind: "unwritten", reason, nowMs };
  }
  work.bytes += write.bytes;
  work.events++;
  work.errors.push(...write.errors, ...outcome.value.rootErrors ?? []);
  work.outbox.push(...outcome.value.outbox ?? []);
  const event = decodeEvent(write.targets[0]!.events[0]!.raw);
  const streamId = eventId(outcome.value.targets[0]!.first);
  return { kind: "written", written: { event, streamId }, nowMs };
}

export function sagaTimer(tenant: number, id: string, dueMs: number): Timer {
  return { dueMs, tenant, kind: "saga", id };
}

async function applyEffect(
  { tools, tx, tenant, errors }: SagaWork,
  record: SagaRecord,
  effect: Exclude<SagaEffect, { readonly kind: "emit" }>,
): Promise<SagaRecord> {
  const { id: sagaId, name, trigger: { key } } = record.instance;
  const { awaitsFrom, ...rest } = record;
  switch (effect.kind) {
    case "await": {
      // Guarded: an event that commits before this transaction counts as written before the
      // wait.
      const { length: from } = await readHead(tx, tenant, effect.key);
      setSagaWaits(tx, tenant, { stream: effect.key, eventTypes: effect.eventTypes }, {
        sagaId,
        from,
      });
      return { ...rest, awaitsFrom: from };
    }
    case "clear_waits": {
      const from = awaitsFrom!;
      clearSagaWaits(tx, tenant, { stream: effect.key, eventTypes: effect.eventTypes }, {
        sagaId,
        from,
      });
      return rest;
    }
    case "set_timer":
      setTimer(tx, sagaTimer(tenant, sagaId, effect.dueMs));
      return { ...record, timerMs: effect.dueMs };
    case "clear_timer": {
      const { timerMs, timerTries: _, ...without } = record;
      clearTimer(tx, sagaTimer(tenant, sagaId, timerMs ?? effect.dueMs));
      return without;
    }
    case "report": {
      const { step, reason } = effect;
      const error = makeErrorRecord(tools.host, {
        error_type: "implication_failed",
        message: `Saga '${name}' has failed at step '${step}': ${reason}`,
        context: { operation: "advance_saga", event_key: key, saga: name, saga_id: sagaId, step },
        request_id: record.requestId,
      });
      storeErrorRecord(tx, tenant, error);
      errors.push(error);
      return record;
    }
    case "done":
      return record;
  }
}
