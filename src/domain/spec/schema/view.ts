/**
 * Gathers what a schema says about one value: itself, the schemas it references and its
 * `allOf`.
 *
 * A schema that has been moved into `$defs` therefore still counts as the same schema.
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import { type Budget, spend } from "../../budget.ts";
import type { Steps } from "../../fairness/pieces.ts";
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

/** A longer name is also charged by its characters: each look-up reads all of them. */
const NAME_CHARACTERS = 64;

/** Views that belong together. Each schema is viewed once, however many others lead to it. */
export interface Viewing {
  readonly budget: Budget;
  readonly views: Map<Place, SchemaView>;
}

/**
 * What the schema says.
 *
 * @throws {BudgetSpent} when the budget does not suffice.
 */
export function* viewSchema(at: SchemaAt, { budget, views }: Viewing): Steps<SchemaView> {
  let view = views.get(at.place);
  if (view === undefined) views.set(at.place, view = yield* readView(at, budget));
  return view;
}

function* readView(at: SchemaAt, budget: Budget): Steps<SchemaView> {
  const parts: SchemaAt[] = [];
  yield* addParts(at, new Set(), parts, budget);
  for (const part of parts) {
    yield;
    spend(budget, unitsOf(objectAt(part)));
  }
  return {
    isFalse: parts.some(({ place }) => isNever(place.schema)),
    types: yield* typesOfAll(parts, budget),
    declaresType: parts.some((part) => objectAt(part).type !== undefined),
    required: yield* requiredBy(parts),
    dependents: yield* dependentsOf(parts, budget),
    properties: yield* collect(parts, propertiesOf),
    isOpen: !parts.some((part) => {
      const { additionalProperties, unevaluatedProperties } = objectAt(part);
      return [additionalProperties, unevaluatedProperties].some((schema) =>
        schema !== undefined && isNever(schema)
      );
    }),
    held: yield* collect(parts, heldBy),
    branches: new Map([
      ["anyOf", yield* branchesOf(parts, "anyOf")],
      ["oneOf", yield* branchesOf(parts, "oneOf")],
    ]),
  };
}

/** The whole document. */
export function wholeSchema(references: References): SchemaAt {
  return { references, place: references.places.get("")! };
}

function objectAt({ place: { schema } }: SchemaAt): JsonObject {
  return isJsonObject(schema) ? schema : {};
}

/** For what the view looks at: neither notes, however long, nor definitions not referred to. */
function unitsOf(schema: JsonObject): number {
  let units = 0;
  for (const keyword of Object.keys(schema)) {
    const value = schema[keyword]!;
    const isRead = KEYWORDS.has(keyword) && !LEFT_OUT.has(keyword);
    if (!isRead || typeof value !== "object" || value === null) units += UNITS_PER_NAME;
    else if (Array.isArray(value)) units += UNITS_PER_NAME * value.length;
    else for (const name of Object.keys(value)) units += UNITS_PER_NAME + unitsOfLong(name);
  }
  for (const name of stringsOf(schema.required)) units += unitsOfLong(name);
  return units;
}

/** Added to what an ordinary name costs. */
export function unitsOfLong(name: string): number {
  return Math.max(0, name.length - NAME_CHARACTERS);
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

/** Adds the schema and all schemas that always apply with it. */
function* addParts(
  at: SchemaAt,
  seen: Set<Place>,
  parts: SchemaAt[],
  budget: Budget,
): Steps<void> {
  yield;
  spend(budget, UNITS_PER_PART);
  if (seen.has(at.place)) return;
  seen.add(at.place);
  parts.push(at);
  for (const part of partsBeside(at)) yield* addParts(part, seen, parts, budget);
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

type Member = readonly [name: string, at: SchemaAt];

function propertiesOf(at: SchemaAt): Member[] {
  return membersOf(at, "properties").map((member) => [member.place.key, member]);
}

const HELD_SINGLY = ["items", "additionalProperties", "unevaluatedProperties", "then", "else"];
const HELD_BY_NAME = ["prefixItems", "patternProperties", "dependentSchemas"];

function heldBy(at: SchemaAt): Member[] {
  const held: Member[] = [];
  for (const keyword of HELD_SINGLY) {
    const place = heldAt(at.place, keyword);
    if (place !== undefined) held.push([keyword, { references: at.references, place }]);
  }
  for (const keyword of HELD_BY_NAME) {
    for (const member of membersOf(at, keyword)) {
      held.push([`${keyword}.${member.place.key}`, member]);
    }
  }
  return held;
}

/** The first part that defines a name wins. */
function* collect(
  parts: readonly SchemaAt[],
  read: (part: SchemaAt) => readonly Member[],
): Steps<ReadonlyMap<string, SchemaAt>> {
  const all = new TextMap<SchemaAt>();
  for (const part of parts) {
    for (const [name, member] of read(part)) {
      yield;
      if (!all.has(name)) all.set(name, member);
    }
  }
  return all;
}

function* branchesOf(
  parts: readonly SchemaAt[],
  keyword: "anyOf" | "oneOf",
): Steps<readonly SchemaAt[]> {
  const branches: SchemaAt[] = [];
  for (const part of parts) {
    yield;
    branches.push(...membersOf(part, keyword), ...(keyword === "anyOf" ? choicesAt(part) : []));
  }
  return branches;
}

function* requiredBy(parts: readonly SchemaAt[]): Steps<TextSet> {
  const required = new TextSet();
  for (const part of parts) {
    for (const name of stringsOf(objectAt(part).required)) {
      yield;
      required.add(name);
    }
  }
  return required;
}

function* dependentsOf(
  parts: readonly SchemaAt[],
  budget: Budget,
): Steps<ReadonlyMap<string, TextSet>> {
  const byTrigger = new TextMap<TextSet>();
  for (const part of parts) {
    const { dependentRequired } = objectAt(part);
    if (!isJsonObject(dependentRequired ?? null)) continue;
    for (const [trigger, list] of Object.entries(dependentRequired as JsonObject)) {
      const names = byTrigger.get(trigger) ?? new TextSet();
      byTrigger.set(trigger, names);
      for (const name of stringsOf(list)) {
        yield;
        spend(budget, UNITS_PER_DEPENDENT + unitsOfLong(name));
        names.add(name);
      }
    }
  }
  return byTrigger;
}

function stringsOf(value: JsonValue | undefined): string[] {
  return [value ?? []].flat().filter((item) => typeof item === "string");
}

type Types = ReadonlySet<string> | undefined;

/** What is known of the types of schemas, by depth and place, as a deep choice tells nothing. */
type KnownTypes = Map<Place, Types>[];

interface TypesWork {
  readonly budget: Budget;
  /** What schemas say themselves. */
  readonly own: KnownTypes;
  /** What they say together with those that always apply with them. */
  readonly together: KnownTypes;
}

function* typesOfAll(parts: readonly SchemaAt[], budget: Budget): Steps<Types> {
  const work: TypesWork = { budget, own: [], together: [] };
  let all: Types;
  for (const part of parts) {
    const types = yield* typesOf(part, work, 0);
    if (types !== undefined) all = all === undefined ? types : intersect(all, types);
  }
  return all;
}

/** Each schema is read once, however many branches lead to it. */
function* typesOf(at: SchemaAt, work: TypesWork, depth: number): Steps<Types> {
  const known = work.own[depth] ??= new Map();
  if (known.has(at.place)) return known.get(at.place);
  const types = yield* readTypes(at, work, depth);
  known.set(at.place, types);
  return types;
}

/** From `type`, else from the values of `const` and `enum`, else from the branches if all tell. */
function* readTypes(at: SchemaAt, work: TypesWork, depth: number): Steps<Types> {
  const schema = objectAt(at);
  if (schema.type !== undefined) return simplify(stringsOf(schema.type));
  if (schema.const !== undefined) return simplify([typeOfValue(schema.const)]);
  if (Array.isArray(schema.enum)) {
    spend(work.budget, UNITS_PER_ALLOWED * schema.enum.length);
    return simplify(schema.enum.map(typeOfValue));
  }
  for (const keyword of ["anyOf", "oneOf"]) {
    const branches = membersOf(at, keyword);
    if (branches.length === 0 || depth > 8) continue;
    const types = yield* typesOfEach(branches, work, depth + 1);
    if (types !== undefined) return simplify([...types]);
  }
  return undefined;
}

/** Undefined if one of the branches does not tell. */
function* typesOfEach(
  branches: readonly SchemaAt[],
  work: TypesWork,
  depth: number,
): Steps<Types> {
  const all = new Set<string>();
  for (const branch of branches) {
    const types = yield* firstTypes(branch, work, depth);
    if (types === undefined) return undefined;
    for (const type of types) all.add(type);
  }
  return all;
}

/** What the schema says of its types, or else the first of those that always apply with it. */
function* firstTypes(at: SchemaAt, work: TypesWork, depth: number): Steps<Types> {
  const known = work.together[depth] ??= new Map();
  if (known.has(at.place)) return known.get(at.place);
  yield;
  spend(work.budget, UNITS_PER_PART);
  // A schema that leads back to itself learns nothing on the way.
  known.set(at.place, undefined);
  let types = yield* typesOf(at, work, depth);
  for (const part of types === undefined ? partsBeside(at) : []) {
    types = yield* firstTypes(part, work, depth);
    if (types !== undefined) break;
  }
  known.set(at.place, types);
  return types;
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
