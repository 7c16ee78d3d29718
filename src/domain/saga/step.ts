/**
 * The saga as a state machine: instance and news in, instance and effects out.
 *
 * Pure, total and deterministic. See docs/reference/sagas.md.
 *
 * - A step begins when the one before it has ended. If its condition does not hold, the step is
 *   skipped, or the last completed step counts as failed because its outcome was bad.
 * - A step fails when its event cannot be made or written, when an event of its `failure_types`
 *   arrives, or when its time is over. Then all steps completed before it are compensated, the
 *   last one first. A step without `compensate` has nothing to undo.
 * - A compensation that cannot be written is tried again after growing pauses. After the last
 *   try the saga has failed, and steps that are not compensated stay so.
 */

import { type Budget, newBudget } from "../budget.ts";
import type { StoredEvent } from "../event.ts";
import { limits } from "../limits.ts";
import type { Steps } from "../fairness/pieces.ts";
import type { StreamKey } from "../identifier.ts";
import type { CompiledSaga, CompiledSagaStep, SagaSight } from "./definition.ts";
import {
  type CompletedStep,
  type EventReference,
  isEndState,
  type PlacedEvent,
  referTo,
  type SagaEffect,
  type SagaHistoryEntry,
  type SagaInstance,
  type SagaNews,
  type SagaOutcome,
  type SagaPhase,
  type SagaState,
  type SagaTransition,
  type SagaWaiting,
} from "./instance.ts";

const MS_PER_SECOND = 1000;
const REASON_CHARACTERS_MAX = 500;
/** Each pause before another try is this many times as long as the one before. */
const PAUSE_FACTOR = 4;
/**
 * Characters of JSON of the events that a saga keeps for its later steps and for compensations. The
 * record of a saga is written anew with each of its steps.
 */
const KEPT_CHARACTERS_MAX = 1024 * 1024;

/** A saga during one transition. Fields of the instance that are not listed here never change. */
interface Course {
  readonly saga: CompiledSaga;
  readonly before: SagaInstance;
  readonly nowMs: number;
  readonly effects: SagaEffect[];
  readonly history: SagaHistoryEntry[];
  /** For all conditions of the transition. */
  readonly budget: Budget;
  completed: CompletedStep[];
  state: SagaState;
  waiting: SagaWaiting | undefined;
}

/** Begins the first step. The caller has checked the trigger's condition (`trigger.holds`). */
export function* startSaga(
  saga: CompiledSaga,
  id: string,
  trigger: PlacedEvent,
  nowMs: number,
): Steps<SagaTransition> {
  const at = toSeconds(nowMs);
  const fresh: SagaInstance = {
    id,
    name: saga.name,
    definition: saga.hash,
    state: "running",
    startedAt: at,
    updatedAt: at,
    trigger: referTo(trigger),
    triggerEvent: trigger.event,
    completed: [],
    history: [],
  };
  const course = open(saga, fresh, nowMs);
  yield* begin(course, 0);
  return close(course);
}

/**
 * Applies one piece of news. News that does not fit returns the instance unchanged, without
 * effects.
 */
export function* stepSaga(
  saga: CompiledSaga,
  instance: SagaInstance,
  news: SagaNews,
): Steps<SagaTransition> {
  const course = open(saga, instance, news.nowMs);
  if (!(yield* accepts(course, news))) return { instance, effects: [] };
  return close(course);
}

/**
 * Ends a saga that cannot be moved on at all because of a fault in the service, and reports it
 * so that people see it. `step` is the name of the step it waits at, passed in because the
 * definition itself may be the fault.
 */
export function abandonSaga(
  instance: SagaInstance,
  step: string,
  reason: string,
  nowMs: number,
): SagaTransition {
  const { waiting, triggerEvent: _, ...fields } = instance;
  if (waiting === undefined || waiting.kind === "write") return { instance, effects: [] };
  const effects: SagaEffect[] = [];
  const { dueMs } = waiting;
  if (waiting.kind === "event") {
    const { key, eventTypes } = waiting;
    effects.push({ kind: "clear_waits", key, eventTypes });
  }
  effects.push(
    { kind: "clear_timer", dueMs },
    { kind: "report", step, reason },
    { kind: "done", state: "failed" },
  );
  const at = toSeconds(nowMs);
  const last = { at, step, outcome: "failed", reason: shortened(reason) } as const;
  const history = [...instance.history, last];
  const ended: SagaInstance = { ...fields, state: "failed", updatedAt: at, completed: [], history };
  return { instance: ended, effects };
}

function* accepts(course: Course, news: SagaNews): Steps<boolean> {
  const { waiting } = course;
  if (waiting === undefined || isEndState(course.state)) return false;
  switch (news.kind) {
    case "written":
      if (waiting.kind !== "write") return false;
      yield* onWritten(course, waiting, news.written);
      return true;
    case "unwritten":
      if (waiting.kind !== "write") return false;
      onUnwritten(course, waiting, news.reason);
      return true;
    case "postponed":
      if (waiting.kind !== "write") return false;
      pause(course, { ...waiting, dueMs: course.nowMs });
      return true;
    case "event":
      return waiting.kind === "event" && (yield* onEvent(course, waiting, news.arrived));
    case "timeout":
      if (waiting.kind === "write" || news.nowMs < waiting.dueMs) return false;
      return yield* onTimeout(course, waiting);
  }
}

type Waiting<Kind extends SagaWaiting["kind"]> = Extract<SagaWaiting, { readonly kind: Kind }>;

function* onWritten(
  course: Course,
  { step, phase, awaits }: Waiting<"write">,
  written: PlacedEvent,
): Steps<void> {
  if (phase === "compensate") {
    record(course, step, "compensated", { event: referTo(written) });
    course.completed.pop();
    return compensate(course, 0);
  }
  record(course, step, "emitted", { event: referTo(written) });
  if (awaits !== undefined) awaitEvent(course, step, awaits);
  else yield* complete(course, step, written);
}

function onUnwritten(course: Course, waiting: Waiting<"write">, reason: string): void {
  const { step, phase, tries } = waiting;
  if (phase === "emit") fail(course, step, { reason });
  else retryLater(course, step, tries + 1, reason);
}

/** Returns false for an event of another stream or type. */
function* onEvent(
  course: Course,
  waiting: Waiting<"event">,
  arrived: PlacedEvent,
): Steps<boolean> {
  const { key, type } = arrived.event;
  if (key !== waiting.key || !waiting.eventTypes.includes(type)) return false;
  endWait(course, waiting);
  const { step } = waiting;
  if (stepAt(course, step).await?.failureTypes.has(type)) {
    fail(course, step, { event: referTo(arrived), reason: `${type} arrived` });
  } else yield* complete(course, step, arrived);
  return true;
}

function* onTimeout(course: Course, waiting: Waiting<"event" | "pause">): Steps<true> {
  const { step } = waiting;
  if (waiting.kind === "event") {
    endWait(course, waiting);
    fail(course, step, { reason: "no awaited event arrived in time" });
    return true;
  }
  course.effects.push({ kind: "clear_timer", dueMs: waiting.dueMs });
  if (waiting.phase === "emit") yield* begin(course, step);
  else compensate(course, waiting.tries);
  return true;
}

/** Begins the first step from `step` on that is not skipped, or completes the saga. */
function* begin(course: Course, step: number): Steps<void> {
  // Bounded: `limits.sagaStepsMax`.
  for (let next = step; next < course.saga.steps.length; next++) {
    const definition = stepAt(course, next);
    const sight = sightOf(course, next);
    yield;
    if (definition.holds(sight)) return emit(course, next, definition, sight);
    if (!definition.skips) return failLastCompleted(course, next);
    record(course, next, "skipped", { reason: "its condition does not hold" });
  }
  end(course, "completed");
}

function emit(
  course: Course,
  step: number,
  definition: CompiledSagaStep,
  sight: SagaSight,
): void {
  const emission = definition.emit(sight);
  if (!emission.ok) return fail(course, step, { reason: emission.reason });
  // Checked before the event is written, because an event that nobody could await must not be
  // stored.
  const awaits = definition.await?.key(sight, emission.value.id);
  if (awaits !== undefined && !awaits.ok) return fail(course, step, { reason: awaits.reason });
  course.waiting = { kind: "write", step, phase: "emit", tries: 0, awaits: awaits?.value };
  const { name } = definition;
  course.effects.push({ kind: "emit", emission: emission.value, phase: "emit", step: name });
}

function awaitEvent(course: Course, step: number, key: StreamKey): void {
  const { eventTypes: good, failureTypes, timeoutMs } = stepAt(course, step).await!;
  const eventTypes = [...good, ...failureTypes];
  const dueMs = course.nowMs + timeoutMs;
  course.waiting = { kind: "event", step, key, eventTypes, dueMs };
  course.effects.push({ kind: "await", key, eventTypes }, { kind: "set_timer", dueMs });
}

function endWait(course: Course, { key, eventTypes, dueMs }: Waiting<"event">): void {
  course.effects.push({ kind: "clear_waits", key, eventTypes }, { kind: "clear_timer", dueMs });
}

function* complete(course: Course, step: number, ended: PlacedEvent): Steps<void> {
  record(course, step, "completed", { event: referTo(ended) });
  course.completed.push({ step, event: ended.event });
  const isLast = step + 1 === course.saga.steps.length;
  if (isLast || hasRoom(course)) return yield* begin(course, step + 1);
  const reason = `the events of its steps have more than ${KEPT_CHARACTERS_MAX} characters of JSON`;
  fail(course, step + 1, { reason });
}

/** Whether the saga may keep a further event. */
function hasRoom({ completed }: Course): boolean {
  // Bounded: `limits.sagaStepsMax`.
  const characters = completed.reduce((sum, { event }) => sum + JSON.stringify(event).length, 0);
  return characters <= KEPT_CHARACTERS_MAX;
}

function fail(course: Course, step: number, why: Pick<SagaHistoryEntry, "event" | "reason">): void {
  record(course, step, "failed", why);
  course.state = "compensating";
  compensate(course, 0);
}

/** A bad outcome shows only in the condition of the next step, so the last completed step fails. */
function failLastCompleted(course: Course, step: number): void {
  const last = course.completed.pop();
  const { name } = stepAt(course, step);
  if (last === undefined) return fail(course, step, { reason: "its condition does not hold" });
  fail(course, last.step, { reason: `the condition of step ${name} does not hold` });
}

/** Undoes the last completed step that can be undone and is not yet, or ends the saga. */
function compensate(course: Course, tries: number): void {
  // Bounded: `limits.sagaStepsMax`; each iteration undoes or drops one step.
  for (;;) {
    const last = course.completed.at(-1);
    if (last === undefined) return end(course, "compensated");
    const { name, compensate } = stepAt(course, last.step);
    if (compensate === undefined) {
      course.completed.pop();
      continue;
    }
    const emission = compensate(sightOf(course, last.step));
    if (!emission.ok) return retryLater(course, last.step, tries + 1, emission.reason);
    course.waiting = { kind: "write", step: last.step, phase: "compensate", tries };
    const { value } = emission;
    course.effects.push({ kind: "emit", emission: value, phase: "compensate", step: name });
    return;
  }
}

function retryLater(course: Course, step: number, tries: number, reason: string): void {
  record(course, step, "compensation_failed", { reason });
  if (tries < limits.sagaCompensationTriesMax) {
    const factor = PAUSE_FACTOR ** (tries - 1);
    const pauseMs = Math.min(factor * limits.sagaRetryMsMin, limits.sagaRetryMsMax);
    return pause(course, { step, phase: "compensate", tries, dueMs: course.nowMs + pauseMs });
  }
  course.effects.push({ kind: "report", step: stepAt(course, step).name, reason });
  end(course, "failed");
}

interface SagaPause {
  readonly step: number;
  readonly phase: SagaPhase;
  readonly tries: number;
  readonly dueMs: number;
}

function pause(course: Course, { step, phase, tries, dueMs }: SagaPause): void {
  course.waiting = { kind: "pause", step, phase, tries, dueMs };
  course.effects.push({ kind: "set_timer", dueMs });
}

function end(course: Course, state: SagaState): void {
  course.state = state;
  course.waiting = undefined;
  course.effects.push({ kind: "done", state });
}

function open(saga: CompiledSaga, instance: SagaInstance, nowMs: number): Course {
  return {
    saga,
    before: instance,
    nowMs,
    effects: [],
    history: [...instance.history],
    budget: newBudget(limits.eventReactionWorkBytesMax),
    completed: [...instance.completed],
    state: instance.state,
    waiting: instance.waiting,
  };
}

function close(course: Course): SagaTransition {
  const { before, state, waiting, history, effects } = course;
  const { triggerEvent, waiting: _, ...fields } = before;
  const updatedAt = toSeconds(course.nowMs);
  const isOver = isEndState(state);
  const instance: SagaInstance = {
    ...fields,
    state,
    updatedAt,
    ...(!isOver && triggerEvent !== undefined && { triggerEvent }),
    completed: isOver ? [] : course.completed,
    ...(waiting !== undefined && { waiting }),
    history,
  };
  return { instance, effects };
}

/** What the templates of step `step` see. Its emission and its compensation see the same. */
function sightOf({ saga, before, completed, budget }: Course, step: number): SagaSight {
  const steps = new Map<string, StoredEvent>();
  let prev: StoredEvent | undefined;
  // Bounded: `limits.sagaStepsMax`.
  for (const { step: index, event } of completed) {
    if (index > step) break;
    steps.set(saga.steps[index]!.name, event);
    if (index < step) prev = event;
  }
  return { trigger: before.triggerEvent!, prev, steps, budget };
}

function stepAt({ saga }: Course, step: number): CompiledSagaStep {
  return saga.steps[step]!;
}

function record(
  course: Course,
  step: number,
  outcome: SagaOutcome,
  { event, reason }: { readonly event?: EventReference; readonly reason?: string },
): void {
  course.history.push({
    at: toSeconds(course.nowMs),
    step: stepAt(course, step).name,
    outcome,
    ...(event && { event }),
    ...(reason !== undefined && { reason: shortened(reason) }),
  });
}

function shortened(reason: string): string {
  return reason.slice(0, REASON_CHARACTERS_MAX);
}

function toSeconds(ms: number): number {
  return Math.floor(ms / MS_PER_SECOND);
}
