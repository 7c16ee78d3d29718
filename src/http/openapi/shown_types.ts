/**
 * Names and examples for the types of a deployed spec in the document.
 *
 * The names are those of schemas and operations, and no code generator confuses one with another.
 * The examples are bodies that write each event.
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/json.ts";
import type { Naming, Part } from "../../domain/spec/schema/embed.ts";
import { sampleObject } from "../../domain/spec/schema/sample.ts";
import type { Definition } from "../../domain/spec/shapes/shape.ts";
import { schemaOfDefinition, schemaOfObject } from "../../domain/spec/shapes/shape_schema.ts";
import { aggregateShapesSteps } from "../../domain/spec/shapes/state_shape.ts";
import { SCHEMAS } from "./components.ts";
import { ERROR_SCHEMAS } from "./error_schemas.ts";
import { ref } from "./schema.ts";
import { TextMap } from "../../domain/lookup/text_map.ts";

export interface NamedType {
  readonly type: string;
  readonly definition: JsonValue;
}

/** The aggregate types that have paths in the document. */
export interface ShownTypes {
  readonly types: readonly NamedType[];
  readonly naming: Naming;
  /** The schema of an event's data. */
  schemaName(type: string, event: string): string;
  /** The schema of its state. */
  stateName(type: string): string;
  /** Reserves the wanted name, or a similar free one. */
  operationId(wanted: string): string;
  /** A body that writes the event, alone or in a list; undefined if there is no example. */
  example(type: string, event: string | undefined, isList: boolean): JsonObject | undefined;
}

/** `ids`: those of all operations. `spec`: the deployed spec that the types belong to, if any. */
export function showTypes(
  aggregateTypes: JsonObject,
  ids: readonly string[],
  spec?: JsonObject,
): ShownTypes {
  const naming = createNames([...Object.keys(SCHEMAS), ...Object.keys(ERROR_SCHEMAS)]);
  const types = Object.entries(aggregateTypes).map(([type, definition]) => ({ type, definition }));
  const names = new TextMap<string>();
  for (const { type, definition } of types) {
    for (const event of writableEvents(definition)) {
      names.set(`${type}.${event}`, naming.claim(`${type}.${event}`));
    }
  }
  const states = new TextMap(
    types.map(({ type }) => [type, naming.claim(`${type}.state`)] as const),
  );
  const idNames = createNames(ids);
  const schemaName = (type: string, event: string) => names.get(`${type}.${event}`)!;
  return {
    types,
    naming,
    schemaName,
    stateName: (type) => states.get(type)!,
    operationId: (wanted) => idNames.claim(wanted),
    example: (type, event, isList) =>
      spec && event !== undefined ? exampleOf(spec, type, event, isList) : undefined,
  };
}

/**
 * The parts of the state of an aggregate type: its schema by its name, then those it refers to.
 * Between parts the generator yields undefined, where the caller may pause.
 */
export function* stateParts(
  definition: JsonValue,
  name: string,
  naming: Naming,
): Generator<Part | void> {
  const { state } = yield* aggregateShapesSteps(definition);
  const names = new Map<Definition, string>();
  const waiting: Definition[] = [];
  function refTo(part: Definition): string {
    const last = part.pointer.slice(part.pointer.lastIndexOf("/") + 1);
    const known = names.get(part) ?? naming.claim(`${name}.${last}`);
    if (!names.has(part)) waiting.push(part);
    names.set(part, known);
    return naming.refTo(known);
  }
  yield [name, schemaOfObject(state, refTo)];
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    yield [names.get(next)!, schemaOfDefinition(next, refTo)];
  }
}

function exampleOf(
  spec: JsonObject,
  type: string,
  event: string,
  isList: boolean,
): JsonObject | undefined {
  const events = eventsOf((spec.aggregate_types as JsonObject)[type]!);
  const { schema = true } = events[event] as JsonObject;
  const data = sampleObject(schema);
  if (data === undefined) return undefined;
  const metadata = { actor: { type: (spec.agent_types as string[])[0]!, id: "global" } };
  return isList ? { events: [{ type: event, data }], metadata } : { data, metadata };
}

/** Event types that can be written; the platform's own have no schema and cannot. */
export function writableEvents(definition: JsonValue): string[] {
  return Object.keys(eventsOf(definition)).filter((name) => !name.startsWith("_"));
}

export function eventsOf(definition: JsonValue): JsonObject {
  const events = isJsonObject(definition) ? definition.events : undefined;
  return isJsonObject(events) ? events : {};
}

/**
 * Returns none of the names in `taken`, and none that generators would take for one of them: they
 * turn names into types, and ignore case, dots and underscores.
 */
export function createNames(taken: Iterable<string>): Naming {
  /** The form of a name that generators see, and how often it was requested. */
  const counts = new TextMap<number>();
  for (const name of taken) counts.set(seen(name), 1);

  function claim(wanted: string): string {
    const plain = wanted.replaceAll(/[^A-Za-z0-9._-]/g, "_");
    // Each iteration raises a count, so their total is small.
    for (;;) {
      const count = (counts.get(seen(plain)) ?? 0) + 1;
      counts.set(seen(plain), count);
      if (count === 1) return plain;
      const next = `${plain}_${count}`;
      if (counts.has(seen(next))) continue;
      counts.set(seen(next), 1);
      return next;
    }
  }

  return { claim, refTo: (name) => ref(name).$ref as string };
}

function seen(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9]/g, "").toLowerCase();
}
