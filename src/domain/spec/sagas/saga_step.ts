/**
 * Checks and compiles one step of a saga.
 *
 * See docs/reference/sagas.md.
 */

import type { Steps } from "../../fairness/pieces.ts";
import { looksLikePath } from "../../handler/path.ts";
import { describeKind, isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import { limits } from "../../limits.ts";
import type { CompiledAwait, CompiledSagaStep } from "../../saga/definition.ts";
import { streamKey } from "../../identifier.ts";
import { type FaultList, joinIndex, shorten } from "../fault_list.ts";
import {
  checkNames,
  compileCondition,
  compileEmission,
  compileStream,
  type SagaPlace,
} from "./saga_expressions.ts";
import { checkKnownKeys, requireObject, uniqueStringsSteps } from "../shape.ts";

const STEP_KEYS = ["name", "condition", "else", "emit", "await", "compensate", "timeout_ms"];
const AWAIT_KEYS = ["aggregate_type", "id", "event_types", "failure_types"];
const AWAIT_HINT = 'For example {"aggregate_type": "payment", "event_types": ["was_captured"]}.';

export interface StepSource {
  readonly definition: JsonObject;
  readonly name: string;
  readonly path: string;
}

/**
 * Compiles step `name`. `place` is that of its event, with the steps that have ended before it.
 * The result is usable only if no fault was reported.
 */
export function* compileStep(
  { definition, name, path }: StepSource,
  place: SagaPlace,
  warnings: FaultList,
): Steps<CompiledSagaStep> {
  checkKnownKeys(definition, STEP_KEYS, path, place.faults);
  const { condition, compensate } = definition;
  const own: SagaPlace = { ...place, earlier: [...place.earlier, name] };
  const holds = condition === undefined
    ? () => true
    : compileCondition(condition, `${path}.condition`, place);
  yield;
  const skips = readElse(definition, path, place.faults) === "skip";
  const emit = compileEmission(definition.emit, `${path}.emit`, place);
  yield;
  const awaited = yield* compileAwait(definition, path, place, warnings);
  yield;
  const undo = compensate === undefined
    ? undefined
    : compileCompensation(compensate, `${path}.compensate`, own);
  return { name, holds, skips, emit, await: awaited, compensate: undo };
}

function readElse(definition: JsonObject, path: string, faults: FaultList): "compensate" | "skip" {
  const value = definition.else;
  if (value === undefined) return "compensate";
  const hint = 'Write "skip" to leave the step out, or "compensate" to undo what was done.';
  if (value !== "skip" && value !== "compensate") {
    faults.add(
      "else_invalid",
      `${path}.else`,
      `${path}.else must be "compensate" or "skip".`,
      hint,
    );
  } else if (definition.condition === undefined) {
    const message = `${path} has no condition, so its else never applies.`;
    faults.add("else_invalid", `${path}.else`, message, "Add a condition, or remove else.");
  }
  return value === "skip" ? "skip" : "compensate";
}

function compileCompensation(value: JsonValue, path: string, place: SagaPlace) {
  if (!isJsonObject(value) || value.emit === undefined) return compileEmission(value, path, place);
  const hint = 'Write it as {"aggregate_type": ..., "id": ..., "event_type": ...}, without "emit".';
  place.faults.add("unknown_key", `${path}.emit`, `${path} is itself the event's template.`, hint);
  return undefined;
}

function* compileAwait(
  definition: JsonObject,
  path: string,
  place: SagaPlace,
  warnings: FaultList,
): Steps<CompiledAwait | undefined> {
  const timeoutMs = readTimeout(definition, path, place.faults);
  if (definition.await === undefined) {
    if (definition.timeout_ms !== undefined) {
      warnings.add(
        "timeout_without_await",
        `${path}.timeout_ms`,
        `${path} waits for nothing: it ends when its event is written.`,
        "Remove timeout_ms, or add an await.",
      );
    }
    return undefined;
  }
  const { faults } = place;
  const at = `${path}.await`;
  const awaited = requireObject(definition.await, at, AWAIT_HINT, faults);
  if (awaited === undefined) return undefined;
  checkKnownKeys(awaited, AWAIT_KEYS, at, faults);
  if (hasTooManyTypes(awaited, at, place)) return undefined;
  const aggregateType = readAwaitedType(awaited, at, place);
  const eventTypes = yield* readTypes(awaited, "event_types", at, place);
  const failureTypes = yield* readTypes(awaited, "failure_types", at, place);
  checkApart(eventTypes, failureTypes, at, faults);
  const stream = awaited.id === undefined ? undefined : compileStream(awaited, at, place);
  if (stream === undefined) warnOfOtherType(definition.emit, aggregateType, at, warnings);
  return {
    aggregateType,
    eventTypes,
    failureTypes,
    timeoutMs,
    key(sight, emittedId) {
      if (stream === undefined) return { ok: true, value: streamKey(aggregateType, emittedId) };
      const made = stream(sight);
      if (made.ok) return { ok: true, value: made.value.key };
      return { ok: false, reason: `The awaited stream has no valid address: ${made.reason}` };
    },
  };
}

/** Each of them is a key in the store while the step waits. None of too many is looked at. */
function hasTooManyTypes(
  awaited: JsonObject,
  path: string,
  { origin, faults }: SagaPlace,
): boolean {
  if (origin === "store") return false;
  const max = limits.sagaAwaitEventsMax;
  let count = 0;
  for (const key of ["event_types", "failure_types"]) {
    const types = awaited[key];
    if (Array.isArray(types)) count += types.length;
    if (count <= max) continue;
    const message = `A step awaits at most ${max} event types, failure_types included; ` +
      `here it is ${count}.`;
    const hint =
      "Let the events that end the wait share an event type, and tell them apart by data.";
    faults.add("too_many", `${path}.${key}`, message, hint);
    return true;
  }
  return false;
}

/**
 * Warns of a step without an id that waits for another type than it emits: it uses the emitted
 * id.
 */
function warnOfOtherType(
  emit: JsonValue | undefined,
  awaitedType: string,
  path: string,
  warnings: FaultList,
): void {
  const emitted = isJsonObject(emit) ? emit.aggregate_type : undefined;
  if (typeof emitted !== "string" || looksLikePath(emitted) || emitted === awaitedType) return;
  warnings.add(
    "await_without_id",
    `${path}.id`,
    `${path} waits for ${shorten(awaitedType)} of the same id as the ${
      shorten(emitted)
    } that the ` +
      "step writes to.",
    'Name the id that is awaited, for example "$.data.payment_id"; to wait for that id, name it, too.',
  );
}

function readAwaitedType(awaited: JsonObject, path: string, place: SagaPlace): string {
  const at = `${path}.aggregate_type`;
  const type = awaited.aggregate_type;
  if (typeof type === "string") {
    if (looksLikePath(type)) {
      const message = `${at} must be a name: what sagas wait for is known before they run.`;
      place.faults.add("wrong_type", at, message, AWAIT_HINT);
    } else checkNames(type, undefined, { aggregateType: at }, place);
    return type;
  }
  const missing = type === undefined;
  const message = missing
    ? `${at} is required.`
    : `${at} must be a string, not ${describeKind(type)}.`;
  place.faults.add(missing ? "missing_key" : "wrong_type", at, message, AWAIT_HINT);
  return "";
}

/**
 * Accepts names only, no paths: the events that sagas wait for must be known before any saga
 * runs.
 */
function* readTypes(
  awaited: JsonObject,
  key: "event_types" | "failure_types",
  path: string,
  place: SagaPlace,
): Steps<ReadonlySet<string>> {
  const at = `${path}.${key}`;
  const value = awaited[key];
  if (value === undefined) {
    if (key === "event_types") {
      place.faults.add("missing_key", at, `${at} is required.`, AWAIT_HINT);
    }
    return new Set();
  }
  if (Array.isArray(value) && value.length === 0 && key === "event_types") {
    place.faults.add("empty_list", at, `${at} must not be empty.`, AWAIT_HINT);
  }
  const types = yield* uniqueStringsSteps(value, at, AWAIT_HINT, place.faults);
  const named = new Set<string>();
  for (const { text, path } of types) {
    if (place.faults.isFull()) break;
    yield;
    named.add(text);
    checkNames(awaited.aggregate_type, text, { eventType: path }, place);
  }
  return named;
}

function checkApart(
  good: ReadonlySet<string>,
  bad: ReadonlySet<string>,
  path: string,
  faults: FaultList,
): void {
  for (const [index, type] of [...bad].entries()) {
    if (!good.has(type)) continue;
    faults.add(
      "duplicate",
      joinIndex(`${path}.failure_types`, index),
      `"${type}" is listed in event_types too: the step could not tell success from failure.`,
      "Leave it in one of the two.",
    );
  }
}

function readTimeout(definition: JsonObject, path: string, faults: FaultList): number {
  const value = definition.timeout_ms;
  if (value === undefined) return limits.sagaTimeoutMsDefault;
  const max = limits.sagaTimeoutMsMax;
  const isValid = Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= max;
  if (isValid) return value as number;
  faults.add(
    "timeout_invalid",
    `${path}.timeout_ms`,
    `${path}.timeout_ms must be a whole number of milliseconds from 1 to ${max} (30 days).`,
    `Write for example 60000; without it the step waits ${limits.sagaTimeoutMsDefault} ms.`,
  );
  return limits.sagaTimeoutMsDefault;
}
