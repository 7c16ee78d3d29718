/** Compiles one aggregate type of a spec: its event types with their schemas and handlers. */

import { canonicalHashSteps } from "../canonical_hash.ts";
import type { Guard } from "../handler/guard.ts";
import type { Handler } from "../handler/handler.ts";
import { describeKind, isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import type { Steps } from "../fairness/pieces.ts";
import { type ModuleCall, readHandlerCall } from "../wasm/module_call.ts";
import type { CompiledAggregateType, CompiledEventType } from "./compiled.ts";
import {
  AGGREGATE_TYPE_KEYS,
  EVENT_TYPE_KEYS,
  isSystemEventName,
  RESERVED_AGGREGATE_TYPES,
  RESERVED_EVENT_TYPES,
} from "./document.ts";
import { type FaultList, joinKey, shorten } from "./fault_list.ts";
import { checkTypeName } from "./declared_names.ts";
import { checkKnownKeys, requireObject } from "./shape.ts";
import { compileHandler } from "../handler/compile_handler.ts";
import type { GeoType } from "../geo/attachment.ts";
import { TYPE_NAME_HINT } from "../type_name.ts";
import type { EventValidator, SchemaCompiler } from "./event_schema.ts";
import { compileGeo } from "./geo.ts";
import { compileGuards, type GuardTerms } from "./guards.ts";
import { warnOfPaths } from "./handler_warnings.ts";
import type { ImplicationsCompiler } from "./implications.ts";
import { TextMap } from "../lookup/text_map.ts";

/** Raise this when handlers with an unchanged definition begin to fold differently. */
const FOLD_FORMAT = 1;

export interface AggregateTypeSite {
  readonly cached: boolean;
  readonly compilers: PartCompilers;
  readonly faults: FaultList;
}

/** Checks one entry of `aggregate_types`. The result is usable only if no fault was reported. */
export function* compileAggregateType(
  name: string,
  value: JsonValue,
  { cached, compilers, faults }: AggregateTypeSite,
): Steps<CompiledAggregateType> {
  const path = joinKey("aggregate_types", name);
  checkAggregateTypeName(name, path, faults);
  const events = new TextMap<CompiledEventType>();
  const handlers = new TextMap<Handler>();
  const wasmHandlers = new TextMap<ModuleCall>();
  const definitions: [string, JsonValue][] = [];
  const guarded = new TextMap<readonly Guard[]>();
  const hint = 'For example {"events": {"was_placed": {"schema": {...}, "handler": [...]}}}.';
  const definition = requireObject(value, path, hint, faults);
  if (definition !== undefined) {
    checkKnownKeys(definition, AGGREGATE_TYPE_KEYS, path, faults);
    const eventTypes = requireObject(definition.events, `${path}.events`, hint, faults) ?? {};
    for (const eventName of Object.keys(eventTypes)) {
      if (faults.isFull()) break;
      const eventPath = joinKey(`${path}.events`, eventName);
      const compiled = yield* compileEventType(
        { aggregateType: name, name: eventName, value: eventTypes[eventName]!, path: eventPath },
        compilers,
        faults,
      );
      yield;
      if (compiled.event !== undefined) events.set(eventName, compiled.event);
      if (compiled.guards?.length) guarded.set(eventName, compiled.guards);
      const { handler } = compiled;
      if (handler === undefined) continue;
      if (typeof handler === "function") handlers.set(eventName, handler);
      else wasmHandlers.set(eventName, handler);
      definitions.push([eventName, compiled.handlerDefinition ?? null]);
    }
  }
  const definitionHash = yield* hashFold(definitions);
  const hashes = { definitionHash, foldHash: definitionHash };
  const own = definitions.filter(([eventName]) => handlers.has(eventName));
  const handlerDefinitions = Object.fromEntries(own);
  const compiled = { name, events, handlers, handlerDefinitions, wasmHandlers };
  const whole = { ...compiled, blobs: new Map(), cached, ...hashes };
  return guarded.size === 0 ? whole : { ...whole, guarded };
}

function checkAggregateTypeName(name: string, path: string, faults: FaultList): void {
  if (!RESERVED_AGGREGATE_TYPES.has(name)) {
    return checkTypeName(name, "Aggregate type", path, faults);
  }
  faults.add(
    "aggregate_type_reserved",
    path,
    `Aggregate type "${name}" is reserved: /${name} is a path of the service.`,
    "Choose another name.",
  );
}

function* hashFold(definitions: readonly [string, JsonValue][]): Steps<string> {
  // Entries, not assignments: an event type may be called `__proto__`.
  const handlers = Object.fromEntries(definitions);
  return yield* canonicalHashSteps({ format: FOLD_FORMAT, handlers });
}

/** One event type, compiled. */
interface CompiledDefinition {
  /** Absent for system events, which are never written through the API. */
  readonly event?: CompiledEventType;
  /** A tick handler, or the call of a WebAssembly module. */
  readonly handler?: Handler | ModuleCall;
  readonly handlerDefinition?: JsonValue;
  readonly guards?: readonly Guard[];
}

/** The compilers for the parts of an event definition. */
interface PartCompilers {
  readonly schemas: SchemaCompiler;
  readonly implications: ImplicationsCompiler;
  readonly geoTypes: ReadonlyMap<string, GeoType>;
  readonly guardTerms: GuardTerms;
  /** Undefined if nobody reads the warnings. */
  readonly warnings: FaultList | undefined;
}

interface EventTypeSource {
  readonly aggregateType: string;
  readonly name: string;
  readonly value: JsonValue;
  readonly path: string;
}

/** Checks one event definition. The result is usable only if no fault was reported. */
function* compileEventType(
  { aggregateType, name, value, path }: EventTypeSource,
  { schemas, implications, geoTypes, guardTerms, warnings }: PartCompilers,
  faults: FaultList,
): Steps<CompiledDefinition> {
  const isSystemEvent = name.startsWith("_");
  checkEventTypeName(name, path, faults);
  const hint = 'For example {"schema": {"type": "object"}, "handler": []}.';
  const definition = requireObject(value, path, hint, faults);
  if (definition === undefined) return {};
  checkKnownKeys(definition, EVENT_TYPE_KEYS, path, faults);
  checkAllowSkipOcc(definition, path, faults);
  const trigger = { aggregateType, eventType: name, path };
  const implied = implications.compile(definition.implications, trigger, faults);
  yield;
  const locate = compileGeo(definition.geo, geoTypes, `${path}.geo`, faults);
  const handler = compileDefinedHandler(definition, isSystemEvent, path, faults);
  const handlerPart = handler && { handler, handlerDefinition: definition.handler! };
  const before = faults.faults.length;
  const guards = yield* compileGuards(definition.guards, guardTerms, `${path}.guards`, faults);
  const hasSoundGuards = faults.faults.length === before && !faults.isFull();
  if (isSystemEvent) {
    refuseSystemEventSchema(definition, path, faults);
    if (guards.length > 0) refuseSystemEventGuards(path, faults);
    if (locate !== undefined) refuseSystemEventGeo(path, faults);
    return { ...handlerPart };
  }
  const validator = yield* compileDefinedSchema(definition, path, schemas, faults);
  if (validator !== undefined && warnings !== undefined) {
    const handlers = typeof handler === "function"
      ? [{ node: definition.handler!, path: `${path}.handler` }]
      : [];
    // Guards with a fault may be of any size.
    const guards = hasSoundGuards ? guardParts(definition.guards, `${path}.guards`) : [];
    yield* warnOfPaths([...handlers, ...guards], definition.schema!, warnings);
  }
  const event = validator && {
    name,
    validateData: validator.validate,
    prepare: validator.prepare,
    allowSkipOcc: definition.allow_skip_occ === true,
    hasImplications: Array.isArray(definition.implications) && definition.implications.length > 0,
    ...implied,
    ...(locate && { locate }),
  };
  return { ...handlerPart, ...(event && { event }), guards };
}

function checkEventTypeName(name: string, path: string, faults: FaultList): void {
  if (RESERVED_EVENT_TYPES.has(name)) {
    faults.add(
      "event_type_reserved",
      path,
      `Event type "${name}" is reserved: /{aggregate_type}/{aggregate_id}/${name} is a path of ` +
        "the service.",
      `Choose another name, for example was_${name}.`,
    );
  } else if (!name.startsWith("_")) checkTypeName(name, "Event type", path, faults);
  else if (!isSystemEventName(name)) {
    faults.add(
      "invalid_name",
      path,
      `System event type "${shorten(name)}" is not a valid name.`,
      `After the underscore: ${TYPE_NAME_HINT}`,
    );
  }
}

function checkAllowSkipOcc(definition: JsonObject, path: string, faults: FaultList): void {
  const value = definition.allow_skip_occ;
  if (value === undefined || typeof value === "boolean") return;
  const place = `${path}.allow_skip_occ`;
  faults.add(
    "wrong_type",
    place,
    `${place} must be true or false, not ${describeKind(value)}.`,
    "Write true, or leave it out.",
  );
}

function compileDefinedHandler(
  definition: JsonObject,
  isSystemEvent: boolean,
  path: string,
  faults: FaultList,
): Handler | ModuleCall | undefined {
  const value = definition.handler;
  const place = `${path}.handler`;
  if (value === undefined) {
    if (isSystemEvent) return undefined;
    faults.add(
      "missing_key",
      place,
      `${place} is required.`,
      "Write [] for an event that does not change the state.",
    );
    return undefined;
  }
  if (isJsonObject(value) && Object.hasOwn(value, "wasm")) {
    return compileWasmHandler(value, place, faults);
  }
  const compiled = compileHandler(value, place);
  if (compiled.ok) return compiled.handler;
  faults.addAll(compiled.violations);
  return undefined;
}

/** Compiles a handler that calls a WebAssembly module; `wasm` must be its only key. */
function compileWasmHandler(
  value: JsonObject,
  path: string,
  faults: FaultList,
): ModuleCall | undefined {
  checkKnownKeys(value, ["wasm"], path, faults);
  const read = readHandlerCall(value.wasm!, `${path}.wasm`);
  if (read.ok) return read.call;
  faults.addAll(read.violations);
  return undefined;
}

function* compileDefinedSchema(
  definition: JsonObject,
  path: string,
  schemas: SchemaCompiler,
  faults: FaultList,
): Steps<EventValidator | undefined> {
  const place = `${path}.schema`;
  if (definition.schema !== undefined) {
    return yield* schemas.compile(definition.schema, place, faults);
  }
  faults.add(
    "missing_key",
    place,
    `${place} is required.`,
    'Write true to accept any data, or a JSON Schema such as {"type": "object"}.',
  );
  return undefined;
}

function refuseSystemEventSchema(definition: JsonObject, path: string, faults: FaultList): void {
  if (definition.schema === undefined) return;
  faults.add(
    "system_event_schema",
    `${path}.schema`,
    "Event types beginning with '_' are written by the platform and must not define a schema.",
    "Remove the schema; a handler may stay.",
  );
}

/** The predicates of guards and the ids of other aggregates, where paths may be. */
function guardParts(
  guards: JsonValue | undefined,
  path: string,
): { node: JsonValue; path: string }[] {
  if (!Array.isArray(guards)) return [];
  return guards.flatMap((guard, index) => {
    if (!isJsonObject(guard)) return [];
    const parts = { require: guard.require ?? null, with: guard.with ?? null };
    return [{ node: parts, path: `${path}[${index}]` }];
  });
}

function refuseSystemEventGuards(path: string, faults: FaultList): void {
  faults.add(
    "system_event_guards",
    `${path}.guards`,
    "Event types beginning with '_' are written by the platform and cannot be refused.",
    "Remove the guards; a handler may stay.",
  );
}

function refuseSystemEventGeo(path: string, faults: FaultList): void {
  faults.add(
    "system_event_geo",
    `${path}.geo`,
    "Event types beginning with '_' are written by the platform and have no point.",
    "Remove it.",
  );
}
