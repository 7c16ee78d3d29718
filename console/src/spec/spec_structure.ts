/**
 * The structure of a spec as a table: which keys may stand at a place, and what stands below them.
 * The editor completes by it.
 */

import { OPERATION_NAMES } from "../../../src/domain/handler/operations.ts";
import { PREDICATE_NAMES } from "../../../src/domain/handler/predicate.ts";
import {
  AGGREGATE_TYPE_KEYS,
  ANNOTATIONS,
  EVENT_TYPE_KEYS,
  MODULE_KEYS,
  ROOT_KEYS,
} from "../../../src/domain/spec/document.ts";
import { KEYWORDS } from "../../../src/domain/spec/schema/vocabulary.ts";

/** What may stand at a place. Lists are not part of it: their elements are as the list's place. */
export interface Part {
  /** The names of its members, if they are given. */
  readonly keys?: readonly string[];
  /** What stands below single members. */
  readonly below?: Readonly<Record<string, string>>;
  /** What stands below all other members. */
  readonly each?: string;
}

const EMISSION_KEYS = ["aggregate_type", "id", "event_type", "data"];

/** The fields of each operation of handlers. */
const OPERATION_FIELDS: Readonly<Record<string, readonly string[]>> = {
  set: ["target", "value"],
  merge: ["target", "value"],
  append: ["target", "value"],
  append_unique: ["target", "value", "key"],
  remove: ["target", "where"],
  increment: ["target", "by"],
  decrement: ["target", "by"],
  filter: ["target", "where"],
  map: ["target", "value", "as"],
  update_where: ["target", "where", "value"],
  upsert: ["target", "key", "value"],
  set_at: ["target", "key", "value"],
  merge_at: ["target", "key", "value"],
  remove_at: ["target", "key"],
  increment_at: ["target", "key", "by"],
};

const PARTS: Readonly<Record<string, Part>> = {
  root: {
    keys: ROOT_KEYS,
    below: { aggregate_types: "types", modules: "modules", geo_types: "geo_types" },
  },
  types: { each: "type" },
  type: { keys: AGGREGATE_TYPE_KEYS, below: { events: "events" } },
  events: { each: "event" },
  event: {
    keys: EVENT_TYPE_KEYS,
    below: {
      schema: "schema",
      handler: "operation",
      implications: "implication",
      guards: "guard",
      geo: "geo",
    },
  },
  schema: { keys: [...KEYWORDS.keys()] },
  schemas: { each: "schema" },
  guard: { keys: ["require", "message", "with"], below: { require: "predicate", with: "others" } },
  predicate: {
    keys: PREDICATE_NAMES,
    below: { and: "predicate", or: "predicate", not: "predicate" },
  },
  others: { each: "other" },
  other: { keys: ["type", "id"] },
  geo: { keys: ["type", "path"] },
  geo_types: { each: "geo_type" },
  geo_type: { keys: ["type", "properties"] },
  operation: {
    // The fields of these two stand beside their name.
    keys: [...OPERATION_NAMES, "then", "else"],
    below: { then: "operation", else: "operation" },
  },
  ...Object.fromEntries(
    Object.entries(OPERATION_FIELDS).map(([name, keys]) => [`operation ${name}`, { keys }]),
  ),
  implication: {
    keys: ["condition", "emit", "map", "schedule", "pipeline", "wasm"],
    below: { emit: "emission", map: "mapping", schedule: "schedule", pipeline: "pipeline" },
  },
  pipeline: { keys: ["condition", "emit", "wasm"], below: { emit: "emission" } },
  emission: { keys: EMISSION_KEYS },
  mapping: { keys: ["in", "as", "emit"], below: { emit: "emission" } },
  schedule: {
    keys: ["delay", "delay_ms", "emit", "cancel_on"],
    below: { emit: "emission", cancel_on: "cancel_on" },
  },
  cancel_on: { keys: ["aggregate_type", "id", "event_type"] },
  modules: { keys: MODULE_KEYS, below: { sagas: "sagas", listeners: "listeners" } },
  sagas: { each: "saga" },
  saga: {
    keys: ["trigger", "steps", "title", "description"],
    below: { trigger: "trigger", steps: "step" },
  },
  trigger: { keys: ["aggregate_type", "event_type", "condition"] },
  step: {
    keys: ["name", "condition", "else", "emit", "await", "compensate", "timeout_ms"],
    below: { emit: "emission", await: "awaiting", compensate: "emission" },
  },
  awaiting: { keys: ["aggregate_type", "id", "event_types", "failure_types"] },
  listeners: { each: "listener" },
  listener: { keys: ["url", "secret", "events", "enabled", "format", "title", "description"] },
};

export type Steps = readonly (string | number)[];

/** What may stand at the place; undefined where the structure does not say. */
export function partAt(steps: Steps): Part | undefined {
  let name: string | undefined = "root";
  for (const step of steps) {
    if (typeof step === "number") continue;
    name = nameBelow(name, step);
    if (name === undefined) return undefined;
  }
  return own(PARTS, name);
}

function nameBelow(name: string, step: string): string | undefined {
  if (name === "schema") {
    const holds = KEYWORDS.get(step)?.holds;
    return holds === undefined ? undefined : holds === "map" ? "schemas" : "schema";
  }
  if (name === "operation" && own(OPERATION_FIELDS, step) !== undefined) return `operation ${step}`;
  const part = own(PARTS, name);
  return own(part?.below ?? {}, step) ?? part?.each;
}

function own<Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/** What a few keys are for. */
export const MEANINGS: Readonly<Record<string, string>> = {
  aggregate_types: "the types of streams",
  agent_types: "who may write",
  target_types: "what an event may be about",
  singletons: "ids that are names",
  modules: "sagas, listeners, caching",
  geo_types: "how points are written",
  events: "the events of a stream",
  schema: "what data must be",
  handler: "how the event changes the state",
  implications: "what follows from the event",
  allow_skip_occ: "writes without a length",
  guards: "what must hold before the event is stored",
  geo: "which part is a point",
  ...Object.fromEntries(ANNOTATIONS.map((name) => [name, "for readers only"])),
};
