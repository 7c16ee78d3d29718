/**
 * Gathers what a schema says about one value: itself, the schemas it references and its
 * `allOf`.
 *
 * A schema that has been moved into `$defs` therefore still counts as the same schema.
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import { type Budget, spend } from "../../budget.ts";
import { heldAt, type Place, type References } from "./references.ts";
import { TextMap, TextSet } from "../../lookup/text_map.ts";
import { KEYWORDS, LEFT_OUT } from "./vocabulary.ts";

/** One schema of a document, by its place. */
export interface SchemaAt {
  readonly references: References;
  readonly place: Place;
}

export interface SchemaView {
  /** True if no value is valid at all. */
  readonly isFalse: boolean;
  /** The types a value may have, without `integer` if `number` is one of them; undefined: any. */
  readonly types: ReadonlySet<string> | undefined;
  /** True when `type` itself says so, not only `const`, `enum` or the branches. */
  readonly declaresType: boolean;
  readonly required: TextSet;
  /** What a property requires beside itself: `dependentRequired`. */
  readonly dependents: ReadonlyMap<string, TextSet>;
  readonly properties: ReadonlyMap<string, SchemaAt>;
  /** False when `additionalProperties` or `unevaluatedProperties` is false. */
  readonly isOpen: boolean;
  /** Nested schemas that are compared one by one: `items`, `prefixItems.0`, `then` ... */
  readonly held: ReadonlyMap<string, SchemaAt>;
  readonly branches: ReadonlyMap<"anyOf" | "oneOf", readonly SchemaAt[]>;
}

/** Units for looking at one schema, and at one name in it. */
const UNITS_PER_PART = 64;
const UNITS_PER_NAME = 32;
/** Units for each value of an `enum` whose type is looked at. */
const UNITS_PER_ALLOWED = 4;
/** Units for following one schema to the only one that it refers to. */
const UNITS_PER_HOP = 16;
/** Units for each name that a property requires beside itself. */
const UNITS_PER_DEPENDENT = 16;

/**
 * What the schema says.
 *
 * @throws {BudgetSpent} when `budget` does not suffice.
 */
export function viewSchema(at: SchemaAt, budget: Budget): SchemaView {
  const parts = partsOf(at, new Set(), budget);
  for (const part of parts) spend(budget, UNITS_PER_NAME * countNames(objectAt(part)));
  const known: KnownTypes = [];
  const types = parts.map((part) => typesOf(part, known, budget))
    .filter((type) => type !== undefined);
  return {
    isFalse: parts.some(({ place }) => isNever(place.schema)),
    types: types.length === 0 ? undefined : types.reduce(intersect),
    declaresType: parts.some((part) => objectAt(part).type !== undefined),
    required: new TextSet(parts.flatMap((part) => stringsOf(objectAt(part).required))),
    dependents: dependentsOf(parts, budget),
    properties: collect(parts, propertiesOf),
    isOpen: !parts.some((part) => {
      const { additionalProperties, unevaluatedProperties } = objectAt(part);
      return [additionalProperties, unevaluatedProperties].some((schema) =>
        schema !== undefined && isNever(schema)
      );
    }),
    held: collect(parts, heldBy),
    branches: new Map((["anyOf", "oneOf"] as const).map((keyword) => [
      keyword,
      parts.flatMap((part) => [
        ...membersOf(part, keyword),
        ...(keyword === "anyOf" ? choicesAt(part) : []),
      ]),
    ])),
  };
}

/** The whole document. */
export function wholeSchema(references: References): SchemaAt {
  return { references, place: references.places.get("")! };
}

function objectAt({ place: { schema } }: SchemaAt): JsonObject {
  return isJsonObject(schema) ? schema : {};
}

/** What the view looks at: neither notes, however long, nor definitions that nothing refers to. */
function countNames(schema: JsonObject): number {
  return Object.keys(schema).reduce((sum: number, keyword) => {
    const value = schema[keyword]!;
    const isRead = KEYWORDS.has(keyword) && !LEFT_OUT.has(keyword);
    if (!isRead || typeof value !== "object" || value === null) return sum + 1;
    return sum + (Array.isArray(value) ? value.length : Object.keys(value).length);
  }, 0);
}

/** Where detours end that have been followed before. */
export type Detours = Map<Place, SchemaAt>;

/**
 * Follows a schema that says nothing but what another one says to that other one.
 *
 * @throws {BudgetSpent} when `budget` does not suffice.
 */
export function withoutDetour(at: SchemaAt, detours: Detours, budget: Budget): SchemaAt {
  const passed = new Set<Place>();
  let [next, end] = [at, detours.get(at.place)];
  while (end === undefined) {
    spend(budget, UNITS_PER_HOP);
    // What leads back to itself says nothing at all.
    if (passed.has(next.place)) return at;
    passed.add(next.place);
    const target = soleTarget(next);
    if (target === undefined) end = next;
    else {
      end = detours.get(target.place);
      next = target;
    }
  }
  for (const place of passed) detours.set(place, end);
  return end;
}

function soleTarget(at: SchemaAt): SchemaAt | undefined {
  const { references, place } = at;
  const schema = objectAt(at);
  if (typeof schema.$ref !== "string") return undefined;
  if (Object.keys(schema).some((key) => key !== "$ref" && !LEFT_OUT.has(key))) return undefined;
  const target = references.targetsOf(place).ref;
  return target === undefined ? undefined : { references, place: target };
}

/** `false`, or `{"not": true}`, or `{"not": {}}`. */
function isNever(schema: JsonValue): boolean {
  if (schema === false) return true;
  if (!isJsonObject(schema) || schema.not === undefined) return false;
  return schema.not === true || (isJsonObject(schema.not) && Object.keys(schema.not).length === 0);
}

/** The schema and all schemas that always apply with it. */
function partsOf(at: SchemaAt, seen: Set<Place>, budget: Budget): SchemaAt[] {
  spend(budget, UNITS_PER_PART);
  if (seen.has(at.place)) return [];
  seen.add(at.place);
  const parts = [at];
  for (const part of partsBeside(at)) parts.push(...partsOf(part, seen, budget));
  return parts;
}

/** The schemas that always apply with it because of its own keywords. */
function partsBeside({ references, place }: SchemaAt): SchemaAt[] {
  const { ref, dynamicRef, several } = references.targetsOf(place);
  const places = [ref, several === undefined ? dynamicRef : undefined]
    .filter((target) => target !== undefined);
  return [...places, ...place.held.get("allOf") ?? []]
    .map((part) => ({ references, place: part }));
}

/** The schemas that its `$dynamicRef` may mean, if there are several; one of them applies. */
function choicesAt({ references, place }: SchemaAt): SchemaAt[] {
  const { several } = references.targetsOf(place);
  return (several?.places ?? []).map((target) => ({ references, place: target }));
}

/** The schemas under `keyword`, a list or a map. */
function membersOf({ references, place }: SchemaAt, keyword: string): SchemaAt[] {
  return (place.held.get(keyword) ?? []).map((member) => ({ references, place: member }));
}

function propertiesOf(at: SchemaAt): ReadonlyMap<string, SchemaAt> {
  return new TextMap(membersOf(at, "properties").map((member) => [member.place.key, member]));
}

const HELD_SINGLY = ["items", "additionalProperties", "unevaluatedProperties", "then", "else"];
const HELD_BY_NAME = ["prefixItems", "patternProperties", "dependentSchemas"];

function heldBy(at: SchemaAt): ReadonlyMap<string, SchemaAt> {
  const held: [name: string, at: SchemaAt][] = [];
  for (const keyword of HELD_SINGLY) {
    const place = heldAt(at.place, keyword);
    if (place !== undefined) held.push([keyword, { references: at.references, place }]);
  }
  for (const keyword of HELD_BY_NAME) {
    for (const member of membersOf(at, keyword)) {
      held.push([`${keyword}.${member.place.key}`, member]);
    }
  }
  return new TextMap(held);
}

/** The first part that defines a name wins. */
function collect(
  parts: readonly SchemaAt[],
  read: (part: SchemaAt) => ReadonlyMap<string, SchemaAt>,
): ReadonlyMap<string, SchemaAt> {
  // Most schemas have no others beside them.
  const [first, ...others] = parts.map(read);
  if (first === undefined || others.length === 0) return first ?? new Map();
  const all = [first, ...others].flatMap((each) => [...each]);
  // Later values replace earlier ones, so those of the first parts come again at the end.
  return new TextMap([...all, ...all.toReversed()]);
}

function dependentsOf(
  parts: readonly SchemaAt[],
  budget: Budget,
): ReadonlyMap<string, TextSet> {
  const lists = parts.flatMap((part) => {
    const { dependentRequired } = objectAt(part);
    return isJsonObject(dependentRequired) ? Object.entries(dependentRequired) : [];
  }).map(([trigger, list]) => [trigger, stringsOf(list)] as const);
  for (const [, names] of lists) spend(budget, UNITS_PER_DEPENDENT * names.length);
  const byTrigger = new TextMap(lists.map(([trigger]) => [trigger, [] as string[]]));
  for (const [trigger, names] of lists) byTrigger.get(trigger)!.push(...names);
  return new TextMap([...byTrigger].map(([trigger, names]) => [trigger, new TextSet(names)]));
}

function stringsOf(value: JsonValue | undefined): string[] {
  return [value ?? []].flat().filter((item) => typeof item === "string");
}

type Types = ReadonlySet<string> | undefined;

/** What is known of the types of schemas, by depth and place, as a deep choice tells nothing. */
type KnownTypes = Map<Place, Types>[];

/** Each schema is read once, however many branches lead to it. */
function typesOf(at: SchemaAt, known: KnownTypes, budget: Budget, depth = 0): Types {
  const here = known[depth] ??= new Map();
  if (here.has(at.place)) return here.get(at.place);
  const types = readTypes(at, known, budget, depth);
  here.set(at.place, types);
  return types;
}

/** From `type`, else from the values of `const` and `enum`, else from the branches if all tell. */
function readTypes(at: SchemaAt, known: KnownTypes, budget: Budget, depth: number): Types {
  const schema = objectAt(at);
  if (schema.type !== undefined) return simplify(stringsOf(schema.type));
  if (schema.const !== undefined) return simplify([typeOfValue(schema.const)]);
  if (Array.isArray(schema.enum)) {
    spend(budget, UNITS_PER_ALLOWED * schema.enum.length);
    return simplify(schema.enum.map(typeOfValue));
  }
  for (const keyword of ["anyOf", "oneOf"]) {
    const branches = membersOf(at, keyword);
    if (branches.length === 0 || depth > 8) continue;
    const types = branches.map((branch) =>
      partsOf(branch, new Set(), budget).map((part) => typesOf(part, known, budget, depth + 1))
        .find((type) => type)
    );
    if (types.every((type) => type !== undefined)) {
      return simplify(types.flatMap((type) => [...type]));
    }
  }
  return undefined;
}

function typeOfValue(value: JsonValue): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
}

function simplify(types: readonly string[]): ReadonlySet<string> {
  const set = new Set(types);
  if (set.has("number")) set.delete("integer");
  return set;
}

function intersect(a: ReadonlySet<string>, b: ReadonlySet<string>): ReadonlySet<string> {
  const both = new Set([...a].filter((type) => b.has(type)));
  if (a.has("integer") && b.has("number") || a.has("number") && b.has("integer")) {
    both.add("integer");
  }
  return both;
}
