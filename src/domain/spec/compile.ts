/**
 * Compiles a deployed document to a CompiledSpec, or to the list of all its faults.
 *
 * See docs/reference/specs.md.
 */

import { canonicalHashSteps } from "../canonical_hash.ts";
import { describeKind, isJsonObject, type JsonObject } from "../json.ts";
import { limits } from "../limits.ts";
import { runAtOnce, type Steps } from "../fairness/pieces.ts";
import type { Violation } from "../refusal.ts";
import type { ModuleCall } from "../wasm/module_call.ts";
import { compileAggregateType } from "./aggregate_type.ts";
import type { CompiledAggregateType, CompiledSpec } from "./compiled.ts";
import type { SpecOrigin } from "./deployment.ts";
import { MODULE_KEYS, ROOT_KEYS } from "./document.ts";
import { acceptStored, createSchemaCompiler, SchemaNotCompiled } from "./event_schema.ts";
import { createFaultList, type FaultList, joinKey, shorten } from "./fault_list.ts";
import { compileGeoTypes } from "./geo.ts";
import { indexListeners } from "../listener/patterns.ts";
import {
  createImplicationsCompiler,
  declaredTypesSteps,
  type ImplicationsCompiler,
} from "./implications.ts";
import { compileListeners } from "./listeners.ts";
import { compileAgentTypes, compileSingletons, compileTargetTypes } from "./declared_names.ts";
import { compileSagas } from "./sagas/saga.ts";
import { checkKnownKeys, isWithinDepthSteps, requireObject, uniqueStringsSteps } from "./shape.ts";
import { didYouMean } from "../nearest_name.ts";
import { TextMap, type Texts } from "../lookup/text_map.ts";

export type SpecCompilation =
  | { readonly ok: true; readonly spec: CompiledSpec; readonly warnings: readonly Violation[] }
  | { readonly ok: false; readonly violations: readonly Violation[] };

/**
 * Checks the inner `spec` object, as parsed from JSON, and prepares it for writes and reads.
 * Reports every fault, up to `limits.violationsMax`; never throws. Keeps a reference to the
 * document instead of copying it.
 */
export function compileSpec(document: unknown): SpecCompilation {
  return runAtOnce(compileSpecSteps(document));
}

/** The same in time slices, for documents that may be large. */
export function* compileSpecSteps(
  document: unknown,
  origin: SpecOrigin = "deploy",
): Steps<SpecCompilation> {
  const faults = createFaultList();
  const warnings = createFaultList();
  if (!isJsonObject(document)) return { ok: false, violations: [notAnObject(document)] };
  if (!(yield* isWithinDepthSteps(document, limits.jsonDepthMax))) {
    return { ok: false, violations: [tooDeep()] };
  }
  const spec = yield* compileDocument(document, origin, faults, warnings);
  if (faults.faults.length > 0) return { ok: false, violations: faults.faults };
  return { ok: true, spec, warnings: warnings.faults };
}

/** Compiles the spec and also prepares its validators, so that no event has to wait for them. */
export function* prepareSpecSteps(
  document: unknown,
  origin: SpecOrigin = "deploy",
): Steps<SpecCompilation> {
  const compiled = yield* compileSpecSteps(document, origin);
  if (!compiled.ok) return compiled;
  for (const [name, { events }] of compiled.spec.aggregateTypes) {
    for (const { name: event, prepare } of events.values()) {
      try {
        yield* prepare();
      } catch (error) {
        if (!(error instanceof SchemaNotCompiled)) throw error;
        const path = joinKey(joinKey(joinKey("aggregate_types", name), "events"), event);
        return { ok: false, violations: [notCompiled(`${path}.schema`, error.message)] };
      }
    }
  }
  return compiled;
}

function notCompiled(path: string, message: string): Violation {
  return {
    rule: "schema_invalid",
    path,
    message: `The schema cannot be compiled: ${message}.`,
    hint: "Simplify the schema.",
  };
}

function* compileDocument(
  document: JsonObject,
  origin: SpecOrigin,
  faults: FaultList,
  warnings: FaultList,
): Steps<CompiledSpec> {
  checkRootKeys(document, faults);
  const agentTypes = yield* compileAgentTypes(document, faults);
  yield;
  const targetTypes = yield* compileTargetTypes(document, faults);
  yield;
  const singletons = yield* compileSingletons(document, faults, warnings);
  const vocabulary = { ...yield* declaredTypesSteps(document), singletons };
  const implications = createImplicationsCompiler(vocabulary);
  const aggregateTypes = yield* compileAggregateTypes(
    document,
    origin,
    { implications, singletons, faults, warnings },
  );
  const { handlerCalls, hasReactions } = yield* surveyTypes(aggregateTypes);
  yield* implications.warnOfCycles(warnings);
  const listeners = yield* compileListeners(document, vocabulary.declared, faults);
  const sagas = yield* compileSagas(document, vocabulary, { origin, faults, warnings });
  // A refused spec has no use for one.
  const hash = faults.faults.length > 0 ? "" : yield* canonicalHashSteps(document);
  return {
    hash,
    document,
    aggregateTypes,
    agentTypes,
    targetTypes,
    singletons,
    watched: implications.watched,
    sagas,
    listeners,
    listenersOf: indexListeners(listeners.values()),
    setsOff: hasReactions || sagas.size > 0 || listeners.size > 0,
    moduleCalls: [...handlerCalls, ...implications.moduleCalls],
    blobs: new Map(),
  };
}

/** The module calls of all handlers, and whether any event type has implications. */
function* surveyTypes(
  types: ReadonlyMap<string, CompiledAggregateType>,
): Steps<{ readonly handlerCalls: readonly ModuleCall[]; readonly hasReactions: boolean }> {
  const handlerCalls: ModuleCall[] = [];
  let hasReactions = false;
  for (const { events, wasmHandlers } of types.values()) {
    yield;
    for (const call of wasmHandlers.values()) handlerCalls.push(call);
    for (const { reactions } of events.values()) hasReactions ||= reactions !== undefined;
  }
  return { handlerCalls, hasReactions };
}

interface TypeReports {
  readonly implications: ImplicationsCompiler;
  readonly singletons: Texts;
  readonly faults: FaultList;
  readonly warnings: FaultList;
}

function* compileAggregateTypes(
  document: JsonObject,
  origin: SpecOrigin,
  { implications, singletons, faults, warnings }: TypeReports,
): Steps<ReadonlyMap<string, CompiledAggregateType>> {
  const hint = 'For example {"order": {"events": {...}}}.';
  const types = requireObject(document.aggregate_types, "aggregate_types", hint, faults) ?? {};
  yield;
  const declared = new Set(Object.keys(types));
  const neverCached = yield* compileModules(document, declared, faults);
  const geoTypes = yield* compileGeoTypes(document, faults);
  const strict = createSchemaCompiler(warnings);
  const schemas = origin === "store" ? acceptStored(strict) : strict;
  const heard = origin === "store" ? undefined : warnings;
  const guardTerms = { types: declared, singletons };
  const compilers = { schemas, implications, geoTypes, guardTerms, warnings: heard };
  const compiled = new TextMap<CompiledAggregateType>();
  for (const name of limitedNames(types, origin, faults)) {
    if (faults.isFull()) break;
    // Not every type has events, between which the thread is yielded.
    yield;
    const cached = !neverCached.has(name);
    compiled.set(
      name,
      yield* compileAggregateType(name, types[name]!, { cached, compilers, faults }),
    );
  }
  return compiled;
}

/** The aggregate types of a document; those beyond the limit of a deploy are not looked at. */
function limitedNames(types: JsonObject, origin: SpecOrigin, faults: FaultList): string[] {
  const names = Object.keys(types);
  const max = limits.aggregateTypesMax;
  if (origin === "store" || names.length <= max) return names;
  const message = `A spec has at most ${max} aggregate types; this one has ${names.length}.`;
  const hint = "Things of one kind are aggregates of one type, each with an id of its own.";
  faults.add("too_many", "aggregate_types", message, hint);
  return names.slice(0, max);
}

function checkRootKeys(document: JsonObject, faults: FaultList): void {
  const { version, ...rest } = document;
  if (version !== undefined) {
    faults.add(
      "version_reserved",
      "version",
      'The key "version" is reserved for future use by the platform.',
      "Remove it; the service numbers the deployed specs itself.",
    );
  }
  if (isJsonObject(document.spec) && document.aggregate_types === undefined) {
    faults.add(
      "nested_envelope",
      "spec",
      'The spec holds another "spec": the envelope was sent twice.',
      'Send {"spec": {"aggregate_types": ..., "agent_types": ...}}.',
    );
    delete rest.spec;
  }
  for (const [key, hint] of Object.entries(MOVED_KEYS)) {
    if (!Object.hasOwn(rest, key)) continue;
    faults.add("unknown_key", key, `"${key}" is not a key of the spec.`, hint);
    delete rest[key];
  }
  checkKnownKeys(rest, ROOT_KEYS, "", faults);
}

/** Keys that belong elsewhere, and where. */
const MOVED_KEYS: Readonly<Record<string, string>> = {
  listeners: 'Listeners belong in "modules": {"modules": {"listeners": {...}}}.',
  sagas: 'Sagas belong in "modules": {"modules": {"sagas": {...}}}.',
  never_cache: 'It belongs in "modules": {"modules": {"never_cache": [...]}}.',
  events: 'Events belong in their aggregate type: {"aggregate_types": {"order": {"events": ...}}}.',
  projections: "Projections are deployed by themselves: POST /api/instances/{id}/projections.",
};

function notAnObject(document: unknown): Violation {
  return {
    rule: "wrong_type",
    path: "",
    message: `The spec must be an object, not ${describeKind(document)}.`,
    hint: 'Send {"spec": {"aggregate_types": ..., "agent_types": ...}}.',
  };
}

function tooDeep(): Violation {
  return {
    rule: "too_deep",
    path: "",
    message: `The spec nests deeper than ${limits.jsonDepthMax} levels.`,
    hint: "Move nested schemas into $defs and refer to them with $ref.",
  };
}

/** Checks `modules` and returns the aggregate types that are never cached. */
function* compileModules(
  document: JsonObject,
  declaredTypes: ReadonlySet<string>,
  faults: FaultList,
): Steps<ReadonlySet<string>> {
  if (document.modules === undefined) return new Set();
  const modules = requireObject(document.modules, "modules", "Write {} for none.", faults);
  if (modules === undefined) return new Set();
  checkKnownKeys(modules, MODULE_KEYS, "modules", faults);
  return yield* compileNeverCache(modules, declaredTypes, faults);
}

function* compileNeverCache(
  modules: JsonObject,
  declaredTypes: ReadonlySet<string>,
  faults: FaultList,
): Steps<ReadonlySet<string>> {
  if (modules.never_cache === undefined) return new Set();
  const path = "modules.never_cache";
  const hint = "List names of declared aggregate types.";
  const names = yield* uniqueStringsSteps(modules.never_cache, path, hint, faults);
  const neverCached = new Set<string>();
  for (const { text, path } of names) {
    if (faults.isFull()) break;
    yield;
    neverCached.add(text);
    if (declaredTypes.has(text)) continue;
    faults.add(
      "unknown_aggregate_type",
      path,
      `"${shorten(text)}" is not an aggregate type of this spec.`,
      didYouMean(text, declaredTypes, hint),
    );
  }
  return neverCached;
}
