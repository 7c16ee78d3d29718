/**
 * Compiles `modules.sagas`, and the stored definitions of sagas that are still running.
 *
 * Every fault is reported. A saga continues under the definition it was started with. See
 * docs/reference/sagas.md.
 */

import { createHash } from "node:crypto";
import { assert } from "../../assert.ts";
import { canonicalPieces } from "../../canonical_hash.ts";
import { canonicalJson } from "../../canonical_json.ts";
import { runAtOnce, type Steps } from "../../fairness/pieces.ts";
import { describeKind, isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import { limits } from "../../limits.ts";
import type { Terms } from "../../reaction/terms.ts";
import type {
  CompiledSaga,
  CompiledSagaStep,
  KeptSagaDefinition,
  SagaTrigger,
} from "../../saga/definition.ts";
import type { SpecOrigin } from "../deployment.ts";
import { createFaultList, type FaultList, joinIndex, joinKey, shorten } from "../fault_list.ts";
import type { Vocabulary } from "../implications.ts";
import { checkTypeName, sortNamesSteps } from "../declared_names.ts";
import { checkNames, compileCondition, type SagaPlace } from "./saga_expressions.ts";
import { compileStep } from "./saga_step.ts";
import { checkKnownKeys, requireObject } from "../shape.ts";
import { TextMap, type Texts, TextSet } from "../../lookup/text_map.ts";

const SAGA_KEYS = ["trigger", "steps", "title", "description"];
const TRIGGER_KEYS = ["aggregate_type", "event_type", "condition"];
const SAGA_HINT = 'For example {"trigger": {...}, "steps": [{"name": "reserve", "emit": {...}}]}.';
const TRIGGER_HINT = 'For example {"aggregate_type": "order", "event_type": "was_placed"}.';
const STEPS_HINT = 'For example [{"name": "reserve", "emit": {...}}].';

export interface SagaReports {
  readonly origin: SpecOrigin;
  readonly faults: FaultList;
  readonly warnings: FaultList;
}

/** The sagas of a spec by name. The result is usable only if no fault was reported. */
export function* compileSagas(
  document: JsonObject,
  vocabulary: Vocabulary,
  { origin, faults, warnings }: SagaReports,
): Steps<ReadonlyMap<string, CompiledSaga>> {
  const compiled = new TextMap<CompiledSaga>();
  const path = "modules.sagas";
  const value = isJsonObject(document.modules) ? document.modules.sagas : undefined;
  if (value === undefined) return compiled;
  const sagas = requireObject(value, path, "Write {} for none.", faults);
  if (sagas === undefined) return compiled;
  const singletons = yield* sortSingletons(vocabulary.singletons);
  const names = Object.keys(sagas);
  if (names.length > limits.sagasMax) {
    const message = `A spec has at most ${limits.sagasMax} sagas; this one has ${names.length}.`;
    faults.add("too_many", path, message, "Join or remove some.");
  }
  for (const name of names.slice(0, limits.sagasMax)) {
    if (faults.isFull()) break;
    const place = joinKey(path, name);
    checkTypeName(name, "Saga", place, faults);
    const site = { origin, path: place, vocabulary, singletons, faults, warnings };
    const saga = yield* compileSaga(name, sagas[name]!, site);
    if (saga !== undefined) compiled.set(name, saga);
  }
  // Without faults there are not too many.
  if (faults.faults.length === 0) yield* warnOfSagaCycles(sagas, path, warnings);
  return compiled;
}

/**
 * Compiles a stored definition, which compiled before; its types may be gone from the spec by
 * now.
 */
export function compileKeptSaga(kept: KeptSagaDefinition): CompiledSaga {
  const saga = checkKeptSaga(kept);
  assert(saga !== undefined, "a kept saga compiles");
  return saga;
}

/** Names of singletons that are put into the set before the work may yield. */
const NAMES_PER_STEP = 1_000;

/** The same in steps, for a definition whose hash is known. */
export function* compileKeptSagaSteps(kept: KeptSagaDefinition, hash: string): Steps<CompiledSaga> {
  const singletons = new TextSet();
  for (const [at, name] of kept.singletons.entries()) {
    if (at % NAMES_PER_STEP === 0) yield;
    singletons.add(name);
  }
  const faults = createFaultList();
  const vocabulary = { ...namedTypes(kept.saga), singletons };
  const names = { names: kept.singletons, hash };
  const site: SagaSite = {
    origin: "store",
    path: "saga",
    vocabulary,
    singletons: names,
    faults,
    warnings: createFaultList(),
  };
  const saga = yield* compileSaga(kept.name, kept.saga, site);
  assert(saga !== undefined && faults.faults.length === 0, "a kept saga compiles");
  return saga;
}

/** The same for a definition from elsewhere; undefined if it does not compile. */
export function checkKeptSaga(kept: KeptSagaDefinition): CompiledSaga | undefined {
  const faults = createFaultList();
  const vocabulary = { ...namedTypes(kept.saga), singletons: new TextSet(kept.singletons) };
  const singletons = runAtOnce(sortSingletons(vocabulary.singletons));
  const site: SagaSite = {
    origin: "store",
    path: "saga",
    vocabulary,
    singletons,
    faults,
    warnings: createFaultList(),
  };
  const saga = runAtOnce(compileSaga(kept.name, kept.saga, site));
  return faults.faults.length === 0 ? saga : undefined;
}

/** Shared by all sagas of a document, which may have many thousands. */
interface SortedSingletons {
  readonly names: readonly string[];
  /** As canonical JSON. */
  readonly text: string;
}

/** Those of a stored definition, which are sorted already. */
interface KnownSingletons {
  readonly names: readonly string[];
  /** Of the whole definition. */
  readonly hash: string;
}

function* sortSingletons(singletons: Texts): Steps<SortedSingletons> {
  const names = yield* sortNamesSteps(singletons);
  const pieces: string[] = [];
  yield* canonicalPieces(names, (piece) => pieces.push(piece));
  return { names, text: pieces.join("") };
}

interface SagaSite extends SagaReports {
  readonly path: string;
  readonly vocabulary: Vocabulary;
  readonly singletons: SortedSingletons | KnownSingletons;
}

function* compileSaga(
  name: string,
  value: JsonValue,
  { origin, path, vocabulary, singletons, faults, warnings }: SagaSite,
): Steps<CompiledSaga | undefined> {
  const saga = requireObject(value, path, SAGA_HINT, faults);
  if (saga === undefined) return undefined;
  checkKnownKeys(saga, SAGA_KEYS, path, faults);
  const triggerType = isJsonObject(saga.trigger) ? String(saga.trigger.aggregate_type) : "";
  const terms: Terms = {
    triggerType,
    ...vocabulary,
    named: [],
    isOpen: false,
    watched: new TextSet(),
    moduleCalls: [],
  };
  const place: SagaPlace = { all: [], earlier: [], hasPrev: false, origin, terms, faults };
  const trigger = compileTrigger(saga.trigger, `${path}.trigger`, place);
  const steps = yield* compileSteps(saga.steps, `${path}.steps`, place, warnings);
  const kept = { name, saga, singletons: singletons.names };
  if ("hash" in singletons) return { name, trigger, steps, kept, hash: singletons.hash };
  // A refused saga has no use for one, and may be of any size.
  const hash = faults.faults.length > 0 ? "" : yield* hashOfKept(name, saga, singletons);
  return { name, trigger, steps, kept, hash };
}

/** The canonical hash of a definition as it is kept. */
function* hashOfKept(
  name: string,
  saga: JsonObject,
  { text }: SortedSingletons,
): Steps<string> {
  const hash = createHash("sha256").update(`{"name":${canonicalJson(name)},"saga":`);
  yield* canonicalPieces(saga, (piece) => hash.update(piece));
  return hash.update(`,"singletons":${text}}`).digest("hex");
}

/** All types that a definition names. For a stored definition they count as declared. */
function namedTypes(saga: JsonObject): Pick<Terms, "declared" | "declaredEvents"> {
  const events = new Set<string>();
  const types: string[] = [];
  for (const place of placesOf(saga)) {
    types.push(...textsIn(place.aggregate_type));
    for (const names of [place.event_type, place.event_types, place.failure_types]) {
      for (const name of textsIn(names)) events.add(name);
    }
  }
  return { declared: new Map(types.map((type) => [type, events])), declaredEvents: events };
}

/** A name, a list of names, or a name as `{"$literal": name}`. */
function textsIn(value: JsonValue | undefined): string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  return isJsonObject(value) ? textsIn(value.$literal) : [];
}

function placesOf(saga: JsonObject): JsonObject[] {
  const steps = Array.isArray(saga.steps) ? saga.steps.filter(isJsonObject) : [];
  const inSteps = steps.flatMap((step) => [step.emit, step.compensate, step.await]);
  return [saga.trigger, ...inSteps].filter((place) => place !== undefined).filter(isJsonObject);
}

function compileTrigger(
  value: JsonValue | undefined,
  path: string,
  place: SagaPlace,
): SagaTrigger {
  const trigger = requireObject(value, path, TRIGGER_HINT, place.faults) ?? {};
  if (value !== undefined) checkKnownKeys(trigger, TRIGGER_KEYS, path, place.faults);
  const [aggregateType, eventType] = ["aggregate_type", "event_type"].map((key) => {
    const name = trigger[key];
    if (typeof name === "string") return name;
    if (!isJsonObject(value)) return "";
    const at = `${path}.${key}`;
    const [rule, message] = name === undefined
      ? ["missing_key", `${at} is required.`]
      : ["wrong_type", `${at} must be a string, not ${describeKind(name)}.`];
    place.faults.add(rule, at, message, TRIGGER_HINT);
    return "";
  }) as [string, string];
  const paths = { aggregateType: `${path}.aggregate_type`, eventType: `${path}.event_type` };
  checkNames(aggregateType || undefined, eventType || undefined, paths, place);
  const condition = trigger.condition === undefined
    ? undefined
    : compileCondition(trigger.condition, `${path}.condition`, place);
  return {
    aggregateType,
    eventType,
    holds: (trigger, budget) =>
      condition === undefined || condition({ trigger, prev: undefined, steps: new Map(), budget }),
  };
}

function* compileSteps(
  value: JsonValue | undefined,
  path: string,
  place: SagaPlace,
  warnings: FaultList,
): Steps<CompiledSagaStep[]> {
  const { faults } = place;
  if (!Array.isArray(value) || value.length === 0) {
    const [rule, message] = value === undefined
      ? ["missing_key", `${path} is required.`]
      : Array.isArray(value)
      ? ["empty_list", `${path} must not be empty.`]
      : ["wrong_type", `${path} must be an array, not ${describeKind(value)}.`];
    faults.add(rule, path, message, STEPS_HINT);
    return [];
  }
  if (value.length > limits.sagaStepsMax) {
    const message =
      `A saga has at most ${limits.sagaStepsMax} steps; this one has ${value.length}.`;
    faults.add("too_many", path, message, "Split it: the last event may trigger another saga.");
    return [];
  }
  const all = value.map((step) => isJsonObject(step) ? step.name : undefined)
    .filter((name) => typeof name === "string");
  const earlier: string[] = [];
  const steps: CompiledSagaStep[] = [];
  for (const [index, each] of value.entries()) {
    if (faults.isFull()) break;
    yield;
    const at = joinIndex(path, index);
    const step = requireObject(each, at, STEPS_HINT, faults);
    if (step === undefined) continue;
    const name = readStepName(step, `${at}.name`, earlier, faults);
    const own = { ...place, all, earlier: [...earlier], hasPrev: index > 0 };
    steps.push(yield* compileStep({ definition: step, name, path: at }, own, warnings));
    earlier.push(name);
  }
  return steps;
}

function readStepName(
  step: JsonObject,
  path: string,
  earlier: readonly string[],
  faults: FaultList,
): string {
  const { name } = step;
  const hint = 'Each step needs a name of its own, for example "reserve".';
  if (typeof name !== "string") {
    const [rule, message] = name === undefined
      ? ["missing_key", `${path} is required.`]
      : ["wrong_type", `${path} must be a string, not ${describeKind(name)}.`];
    faults.add(rule, path, message, hint);
    return "";
  }
  checkTypeName(name, "Step", path, faults);
  if (earlier.includes(name)) {
    faults.add("duplicate", path, `"${shorten(name)}" is the name of an earlier step.`, hint);
  }
  return name;
}

/**
 * Gives one warning for each saga from which a chain of triggers leads back to itself. Only
 * types written as plain names are followed. At run time the depth of chained events is limited
 * in any case.
 */
function* warnOfSagaCycles(sagas: JsonObject, path: string, warnings: FaultList): Steps<void> {
  const next = new Map<string, readonly string[]>();
  const triggered = groupByTrigger(sagas);
  for (const [name, saga] of Object.entries(sagas)) {
    yield;
    next.set(name, emittedTypes(saga).flatMap((type) => triggered.get(type) ?? []));
  }
  for (const name of next.keys()) {
    yield;
    const chain = findChain(name, next);
    if (chain === undefined) continue;
    warnings.add(
      "saga_cycle",
      joinKey(path, name),
      `Saga "${name}" may start itself again: ${chain.join(" -> ")}.`,
      "Give a trigger a condition that ends the circle; it is cut off after eight rounds.",
    );
  }
}

function groupByTrigger(sagas: JsonObject): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const [name, saga] of Object.entries(sagas)) {
    const trigger = isJsonObject(saga) ? saga.trigger : undefined;
    const type = nameOf(trigger);
    if (type === undefined) continue;
    const group = groups.get(type);
    if (group === undefined) groups.set(type, [name]);
    else group.push(name);
  }
  return groups;
}

function emittedTypes(saga: JsonValue): string[] {
  const steps = isJsonObject(saga) && Array.isArray(saga.steps) ? saga.steps : [];
  const types = new Set<string>();
  for (const step of steps) {
    if (!isJsonObject(step)) continue;
    for (const emission of [step.emit, step.compensate]) {
      const type = nameOf(emission);
      if (type !== undefined) types.add(type);
    }
  }
  return [...types];
}

/** `order.was_placed` for `{aggregate_type: "order", event_type: "was_placed"}`. */
function nameOf(value: JsonValue | undefined): string | undefined {
  if (!isJsonObject(value)) return undefined;
  const { aggregate_type: aggregateType, event_type: eventType } = value;
  if (typeof aggregateType !== "string" || typeof eventType !== "string") return undefined;
  return `${aggregateType}.${eventType}`;
}

/** The shortest chain from `start` back to it, including both ends. */
function findChain(
  start: string,
  next: ReadonlyMap<string, readonly string[]>,
): string[] | undefined {
  const from = new Map<string, string>();
  const waiting = [start];
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    for (const follower of next.get(name) ?? []) {
      if (follower === start) return [...wayTo(name, start, from), start];
      if (from.has(follower)) continue;
      from.set(follower, name);
      waiting.push(follower);
    }
  }
  return undefined;
}

function wayTo(name: string, start: string, from: ReadonlyMap<string, string>): string[] {
  const way = [name];
  while (way[0] !== start) way.unshift(from.get(way[0]!)!);
  return way;
}
