/** Compiles one aggregate type of a spec: its event types with their schemas and handlers. */

import { canonicalHash } from "../canonical_json.ts";
import type { Handler } from "../handler/handler.ts";
import type { JsonValue } from "../json.ts";
import type { Steps } from "../fairness/pieces.ts";
import type { ModuleCall } from "../wasm/module_call.ts";
import type { CompiledAggregateType, CompiledEventType } from "./compiled.ts";
import { AGGREGATE_TYPE_KEYS, RESERVED_AGGREGATE_TYPES } from "./document.ts";
import { compileEventType, type PartCompilers } from "./event_type.ts";
import { type FaultList, joinKey } from "./fault_list.ts";
import { checkTypeName } from "./party_types.ts";
import { checkKnownKeys, requireObject } from "./shape.ts";

/** Raise this when handlers with an unchanged definition begin to fold differently. */
const FOLD_FORMAT = 1;

/** Checks one entry of `aggregate_types`. The result is usable only if no fault was reported. */
export function* compileAggregateType(
  name: string,
  value: JsonValue,
  cached: boolean,
  compilers: PartCompilers,
  faults: FaultList,
): Steps<CompiledAggregateType> {
  const path = joinKey("aggregate_types", name);
  checkAggregateTypeName(name, path, faults);
  const events = new Map<string, CompiledEventType>();
  const handlers = new Map<string, Handler>();
  const wasmHandlers = new Map<string, ModuleCall>();
  const definitions: [string, JsonValue][] = [];
  const hint = 'For example {"events": {"was_placed": {"schema": {...}, "handler": [...]}}}.';
  const definition = requireObject(value, path, hint, faults);
  if (definition !== undefined) {
    checkKnownKeys(definition, AGGREGATE_TYPE_KEYS, path, faults);
    const eventTypes = requireObject(definition.events, `${path}.events`, hint, faults) ?? {};
    for (const [eventName, eventDefinition] of Object.entries(eventTypes)) {
      if (faults.isFull()) break;
      const eventPath = joinKey(`${path}.events`, eventName);
      const compiled = yield* compileEventType(
        name,
        eventName,
        eventDefinition,
        eventPath,
        compilers,
        faults,
      );
      yield;
      if (compiled.event !== undefined) events.set(eventName, compiled.event);
      const { handler } = compiled;
      if (handler === undefined) continue;
      if (typeof handler === "function") handlers.set(eventName, handler);
      else wasmHandlers.set(eventName, handler);
      definitions.push([eventName, compiled.handlerDefinition ?? null]);
    }
  }
  const definitionHash = hashFold(definitions);
  const hashes = { definitionHash, foldHash: definitionHash };
  const own = definitions.filter(([eventName]) => handlers.has(eventName));
  const handlerDefinitions = Object.fromEntries(own);
  const compiled = { name, events, handlers, handlerDefinitions, wasmHandlers };
  return { ...compiled, blobs: new Map(), cached, ...hashes };
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

function hashFold(definitions: readonly [string, JsonValue][]): string {
  // Entries, not assignments: an event type may be called `__proto__`.
  const handlers = Object.fromEntries(definitions);
  return canonicalHash({ format: FOLD_FORMAT, handlers });
}
