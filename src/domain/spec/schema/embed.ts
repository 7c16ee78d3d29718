/**
 * Embeds an event's schema in a larger document as separate parts with the same meaning.
 *
 * The schema and each schema it refers to become a part with a name of its own, because the
 * tools that read such documents find nothing deeper. Keywords that located a schema inside the
 * event's own are left out.
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import type { Steps } from "../../fairness/pieces.ts";
import {
  type DynamicTargets,
  findReferencesSteps,
  findTargets,
  type Place,
  type References,
} from "./references.ts";
import { ANNOTATIONS, KEYWORDS } from "./vocabulary.ts";

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
  /** Of the first part. */
  readonly name: string;
  readonly references: References;
  /** The names of the parts, by their schemas. */
  readonly names: Map<Place, string>;
  /** The names of the parts for what a dynamic reference may mean, by the schemas it may mean. */
  readonly choices: Map<readonly Place[], string>;
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
  const names = new Map([[references.places.get("")!, name]]);
  for (const target of yield* findTargets(references)) {
    if (!names.has(target)) names.set(target, naming.claim(`${name}.${target.key}`));
  }
  const embedding: Embedding = { name, references, names, choices: new Map(), naming };
  for (const [place, part] of names) yield [part, yield* embedAt(place, embedding)];
  for (const [places, part] of embedding.choices) yield [part, choiceOf(places, embedding)];
}

/** The schema at `place`, or the reference to its part. */
function* embedHeldAt(place: Place, embedding: Embedding): Steps<JsonValue> {
  yield;
  const name = embedding.names.get(place);
  if (name !== undefined) return { $ref: embedding.naming.refTo(name) };
  return yield* embedAt(place, embedding);
}

function* embedAt(place: Place, embedding: Embedding): Steps<JsonValue> {
  const { schema } = place;
  if (!isJsonObject(schema)) return schema === true ? {} : { not: {} };
  const result: JsonObject = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (isOfNoUse(keyword) || keyword === "$ref" || keyword === "$dynamicRef") continue;
    if (keyword === "enum" && !isPlainList(value as JsonValue[])) continue;
    result[keyword] = yield* embedHeld(keyword, value, place, embedding);
  }
  for (const reference of embedReferences(place, embedding)) addReference(reference, result);
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

function* embedReferences(place: Place, embedding: Embedding): Generator<string> {
  const { references, names, naming } = embedding;
  const { ref, dynamicRef, several } = references.targetsOf(place);
  // A deployed schema has no reference without a target.
  if (ref !== undefined) yield naming.refTo(names.get(ref)!);
  if (several !== undefined) yield naming.refTo(choiceName(several, embedding));
  else if (dynamicRef !== undefined) yield naming.refTo(names.get(dynamicRef)!);
}

/** Which schema the reference means depends on where it is used, so the part allows any of them. */
function choiceName({ anchor, places }: DynamicTargets, { name, choices, naming }: Embedding) {
  let choice = choices.get(places);
  if (choice === undefined) {
    choice = naming.claim(`${name}.any_${anchor}`);
    choices.set(places, choice);
  }
  return choice;
}

function choiceOf(places: readonly Place[], { names, naming }: Embedding): JsonObject {
  return { anyOf: places.map((place) => ({ $ref: naming.refTo(names.get(place)!) })) };
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
  place: Place,
  embedding: Embedding,
): Steps<JsonValue> {
  const holds = KEYWORDS.get(keyword)?.holds;
  if (holds === undefined) return value;
  const held = place.held.get(keyword) ?? [];
  if (holds === "schema") {
    const isKept = MAY_BE_BOOLEAN.has(keyword) && typeof value === "boolean";
    return isKept ? value : yield* embedHeldAt(held[0]!, embedding);
  }
  const entries: [string, JsonValue][] = [];
  for (const child of held) entries.push([child.key, yield* embedHeldAt(child, embedding)]);
  if (holds === "list") return entries.map(([, schema]) => schema);
  // Entries, not assignments: a key may be `__proto__`.
  return Object.fromEntries(entries);
}
