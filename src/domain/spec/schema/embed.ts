/**
 * An event's schema as parts of a larger document: itself and each schema that it refers to, under
 * a name of its own, for the tools that read such documents find nothing deeper. What said where a
 * schema is inside the event's own is left out. It means the same as before.
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import type { Steps } from "../../pieces.ts";
import { findReferencesSteps, findTargets, type References } from "./references.ts";
import { ANNOTATIONS, escapePointer, KEYWORDS, unescapePointer } from "./vocabulary.ts";

/** What says where a schema is. Two event types may use the same names. */
const NAMING: ReadonlySet<string> = new Set(["$schema", "$id", "$anchor", "$dynamicAnchor"]);

/** Held by names that only references mean; what none refers to is of no use. */
const DEFINITIONS: ReadonlySet<string> = new Set(["$defs", "definitions"]);

/** They may hold true and false; anywhere else a schema is an object, as tools expect. */
const MAY_BE_BOOLEAN: ReadonlySet<string> = new Set([
  "additionalProperties",
  "unevaluatedProperties",
]);

/** Where the parts stand in the document. */
export interface Naming {
  /** A free name like the wanted one; it is free no more. */
  claim(wanted: string): string;
  /** The reference to the part of that name. */
  refTo(name: string): string;
}

interface Embedding {
  readonly references: References;
  /** Names of the parts by the pointer of their schema. */
  readonly names: Map<string, string>;
  /** Names of the parts that stand for what a dynamic reference may mean, by its anchor. */
  readonly choices: Map<string, string>;
  readonly naming: Naming;
}

export type Part = readonly [name: string, part: JsonValue];

/**
 * The parts of `schema`, which has passed its deploy, and between them moments to rest. The first
 * part is itself, called `name`.
 */
export function* embedSchema(
  schema: JsonValue,
  name: string,
  naming: Naming,
): Generator<Part | void> {
  const references = yield* findReferencesSteps(schema);
  const names = new Map([["", name]]);
  for (const target of findTargets(references)) {
    if (!names.has(target)) names.set(target, naming.claim(`${name}.${lastSegment(target)}`));
  }
  const embedding: Embedding = { references, names, choices: new Map(), naming };
  for (const [pointer, part] of names) yield [part, yield* embedAt(pointer, embedding)];
  for (const [anchor, part] of embedding.choices) yield [part, choiceOf(anchor, embedding)];
}

function lastSegment(pointer: string): string {
  return unescapePointer(pointer.slice(pointer.lastIndexOf("/") + 1));
}

/** The schema that `pointer` holds, or the reference to its part. */
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

/** Values of one kind, and null, are written down by all tools; those of several by few. */
function isPlainList(values: readonly JsonValue[]): boolean {
  const kinds = new Set(values.map((value) => value === null ? "null" : typeof value));
  return !kinds.has("object") && kinds.size <= (kinds.has("null") ? 2 : 1);
}

/** The same as a choice of single values. */
function addChoice(values: readonly JsonValue[], result: JsonObject): void {
  const anyOf = values.map((value) => ({ const: value }));
  if (result.anyOf === undefined) result.anyOf = anyOf;
  else result.allOf = [...result.allOf as JsonValue[] | undefined ?? [], { anyOf }];
}

/** What is no keyword here may be one there, and mean what nobody checks. */
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

/** Which of several it means shows only where the schema is used: any of them. */
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

/** Beside keywords that say more, a reference stands in `allOf`: many tools would see it alone. */
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
