/** The paths by which handlers read an event: those of its data come from its schema. */

import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/domain/json.ts";

export interface EventPath {
  readonly path: string;
  /** The types that the value may have, or what it is. */
  readonly detail: string;
}

/** A schema may refer to itself, so there is an end. */
const DEPTH_MAX = 6;
const PATHS_MAX = 300;
/** Schemas that are looked at, for one may refer to another many times. */
const SCHEMAS_MAX = 5_000;

const OTHER_PATHS: readonly EventPath[] = [
  { path: "$.id", detail: "the id of the aggregate" },
  { path: "$.key", detail: "its type and id" },
  { path: "$.type", detail: "the event type" },
  { path: "$.metadata.timestamp", detail: "in seconds" },
  { path: "$.metadata.actor.id", detail: "who has written it" },
];

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Their schemas are about the same value. */
const BRANCHES = ["allOf", "anyOf", "oneOf", "if", "then", "else"];

/** Of the event whose data fits `schema`; the data itself first, then what it holds. */
export function eventPaths(schema: JsonValue | undefined): readonly EventPath[] {
  const found: Found = { paths: new Map([["$.data", new Set(["all of it"])]]), schemas: 0 };
  walk("$.data", { schema, root: schema, depth: 0 }, found);
  const paths = [...found.paths].map(([path, details]) => ({
    path,
    detail: [...details].join(" or "),
  }));
  return [...paths, ...OTHER_PATHS];
}

interface Found {
  /** Each with the types that its value may have. */
  readonly paths: Map<string, Set<string>>;
  /** How many schemas were looked at. */
  schemas: number;
}

interface Place {
  readonly schema: JsonValue | undefined;
  /** Where references lead to. */
  readonly root: JsonValue | undefined;
  readonly depth: number;
}

function walk(path: string, { schema, root, depth }: Place, found: Found): void {
  if (!isObject(schema) || depth > DEPTH_MAX || found.schemas++ >= SCHEMAS_MAX) return;
  const here = { root, depth: depth + 1 };
  for (const each of branchesOf(schema, root)) walk(path, { schema: each, ...here }, found);
  if (isObject(schema.properties)) {
    for (const [name, member] of Object.entries(schema.properties)) {
      const below = path + stepTo(name);
      note(below, member, found);
      walk(below, { schema: member, ...here }, found);
    }
  }
  if (isObject(schema.items)) {
    note(`${path}[*]`, schema.items, found);
    walk(`${path}[*]`, { schema: schema.items, ...here }, found);
  }
}

function branchesOf(schema: JsonObject, root: JsonValue | undefined): readonly JsonValue[] {
  const branches = BRANCHES.flatMap((keyword) => own(schema, keyword) ?? []);
  const { $ref } = schema;
  if (typeof $ref !== "string" || !$ref.startsWith("#")) return branches;
  const steps = $ref.slice(1).split("/").filter((step) => step !== "");
  const target = steps.reduce<JsonValue | undefined>(own, root);
  return target === undefined ? branches : [...branches, target];
}

function note(path: string, schema: JsonValue, { paths }: Found): void {
  const details = paths.get(path) ?? new Set();
  if (paths.size < PATHS_MAX) paths.set(path, details);
  if (!isObject(schema)) return;
  for (const type of [schema.type ?? []].flat()) details.add(String(type));
}

/** A name that is no word stands in brackets. */
function stepTo(name: string): string {
  return NAME.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return value !== undefined && isJsonObject(value);
}

function own(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}
