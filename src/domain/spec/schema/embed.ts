/**
 * Embeds an event's schema in a larger document as separate parts with the same meaning.
 *
 * The schema and each schema it refers to become a part with a name of its own, because the
 * tools that read such documents find nothing deeper. Keywords that located a schema inside the
 * event's own are left out.
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import type { Steps } from "../../fairness/pieces.ts";
import { findReferencesSteps, findTargets, type References } from "./references.ts";
import { ANNOTATIONS, escapePointer, KEYWORDS, unescapePointer } from "./vocabulary.ts";
import { TextMap } from "../../lookup/text_map.ts";

/** Keywords that locate a schema. Two event types may use the same names. */
const NAMING: ReadonlySet<string> = new Set(["$schema", "$id", "$anchor", "$dynamicAnchor"]);

/** Maps whose schemas are only ever reached by reference; those without one are useless. */
const DEFINITIONS: ReadonlySet<string> = new Set(["$defs", "definitions"]);

/** Keywords that may hold true and false. Elsewhere tools expect a schema to be an object. */
const MAY_BE_BOOLEAN: ReadonlySet<string> = new Set([
  "additionalProperties",
  "unevaluatedProperties",
]);

/** Names the parts in the larger document. */
export interface Naming {
  /** Returns an unused name similar to the wanted one, and reserves it. */
  claim(wanted: string): string;
  /** The reference to the part of that name. */
  refTo(name: string): string;
}

interface Embedding {
  readonly references: References;
  /** The names of the parts, by the pointer of their schema. */
  readonly names: TextMap<string>;
  /** The names of the parts for what a dynamic reference may mean, by its anchor. */
  readonly choices: TextMap<string>;
  readonly naming: Naming;
}

export type Part = readonly [name: string, part: JsonValue];

/**
 * The parts of `schema`, which has been checked at deploy. The first part is the schema itself,
 * called `name`. Between parts the generator yields undefined, where the caller may pause.
 */
export function* embedSchema(
  schema: JsonValue,
  name: string,
  naming: Naming,
): Generator<Part | void> {
  const references = yield* findReferencesSteps(schema);
  const names = new TextMap<string>([["", name]]);
  for (const target of findTargets(references)) {
    if (!names.has(target)) names.set(target, naming.claim(`${name}.${lastSegment(target)}`));
  }
  const embedding: Embedding = { references, names, choices: new TextMap(), naming };
  for (const [pointer, part] of names) yield [part, yield* embedAt(pointer, embedding)];
  for (const [anchor, part] of embedding.choices) yield [part, choiceOf(anchor, embedding)];
}

function lastSegment(pointer: string): string {
  return unescapePointer(pointer.slice(pointer.lastIndexOf("/") + 1));
}

/** The schema at `pointer`, or the reference to its part. */
function* embedHeldAt(pointer: string, embedding: Embedding): Steps<JsonValue> {
  yield;
  const name = embedding.names.get(pointer);
  if (name !== undefined) return { $ref: embedding.naming.refTo(name) };
  return yield* embedAt(pointer, embedding);
}

function* embedAt(pointer: string, embedding: Embedding): Steps<JsonValue> {
  const { schema } = embedding.references.places.get(pointer)!;
  if (!isJsonObject(schema)) return schema === true ? {} : { not: {} };
  const result: JsonObject = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (isOfNoUse(keyword) || keyword === "$ref" || keyword === "$dynamicRef") continue;
    if (keyword === "enum" && !isPlainList(value as JsonValue[])) continue;
    result[keyword] = yield* embedHeld(keyword, value, `${pointer}/${keyword}`, embedding);
  }
  for (const reference of embedReferences(schema, pointer, embedding)) {
    addReference(reference, result);
  }
  if (Array.isArray(schema.enum) && !isPlainList(schema.enum)) addChoice(schema.enum, result);
  return result;
}

/** True for values of one kind plus null: all tools handle such lists, few handle mixed ones. */
function isPlainList(values: readonly JsonValue[]): boolean {
  const kinds = new Set(values.map((value) => value === null ? "null" : typeof value));
  return !kinds.has("object") && kinds.size <= (kinds.has("null") ? 2 : 1);
}

/** Writes the same list as a choice of single values. */
function addChoice(values: readonly JsonValue[], result: JsonObject): void {
  const anyOf = values.map((value) => ({ const: value }));
  if (result.anyOf === undefined) result.anyOf = anyOf;
  else result.allOf = [...result.allOf as JsonValue[] | undefined ?? [], { anyOf }];
}

/** An unknown keyword may be known to the tools and promise something that nobody checks. */
function isOfNoUse(keyword: string): boolean {
  if (NAMING.has(keyword) || DEFINITIONS.has(keyword) || keyword === "$comment") return true;
  return !KEYWORDS.has(keyword) && !keyword.startsWith("x-");
}

function* embedReferences(
  schema: JsonObject,
  pointer: string,
  embedding: Embedding,
): Generator<string> {
  const { references, names, naming } = embedding;
  for (const keyword of ["$ref", "$dynamicRef"]) {
    const reference = schema[keyword];
    if (typeof reference !== "string") continue;
    const several = keyword === "$dynamicRef"
      ? references.dynamicTargets(reference, pointer)
      : undefined;
    // A deployed schema has no reference without a target.
    const name = several === undefined
      ? names.get(references.resolve(reference, pointer) ?? "")!
      : choiceName(several.anchor, embedding);
    yield naming.refTo(name);
  }
}

/** Which schema the reference means depends on where it is used, so the part allows any of them. */
function choiceName(anchor: string, { choices, names, naming }: Embedding): string {
  let name = choices.get(anchor);
  if (name === undefined) {
    name = naming.claim(`${names.get("")}.any_${anchor}`);
    choices.set(anchor, name);
  }
  return name;
}

function choiceOf(anchor: string, { references, names, naming }: Embedding): JsonObject {
  const pointers = references.dynamicPlaces(anchor);
  return { anyOf: pointers.map((pointer) => ({ $ref: naming.refTo(names.get(pointer)!) })) };
}

/** Beside other keywords a reference goes into `allOf`, because many tools would see only it. */
function addReference($ref: string, result: JsonObject): void {
  const isAlone = Object.keys(result).every((keyword) => ANNOTATIONS.has(keyword));
  if (isAlone) result.$ref = $ref;
  else {
    const { $ref: before, ...others } = result;
    const all = [...others.allOf as JsonValue[] | undefined ?? []];
    if (before !== undefined) all.push({ $ref: before });
    delete result.$ref;
    result.allOf = [...all, { $ref }];
  }
}

function* embedHeld(
  keyword: string,
  value: JsonValue,
  place: string,
  embedding: Embedding,
): Steps<JsonValue> {
  switch (KEYWORDS.get(keyword)?.holds) {
    case "schema":
      return MAY_BE_BOOLEAN.has(keyword) && typeof value === "boolean"
        ? value
        : yield* embedHeldAt(place, embedding);
    case "list": {
      const list: JsonValue[] = [];
      for (const index of (value as JsonValue[]).keys()) {
        list.push(yield* embedHeldAt(`${place}/${index}`, embedding));
      }
      return list;
    }
    case "map": {
      const entries: [string, JsonValue][] = [];
      for (const key of Object.keys(value as JsonObject)) {
        entries.push([key, yield* embedHeldAt(`${place}/${escapePointer(key)}`, embedding)]);
      }
      // Entries, not assignments: a key may be `__proto__`.
      return Object.fromEntries(entries);
    }
    default:
      return value;
  }
}
