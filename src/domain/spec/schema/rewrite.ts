/**
 * Rewrites a checked schema to the form that the validator compiles.
 *
 * The result is a set of functions that call each other. Annotations, unknown keywords and
 * `$id`s are left out, `__proto__` becomes a pattern, and each schema gets the price of a
 * visit. We resolve the references ourselves, which keeps two event types with the same `$id`
 * apart and ajv's own registry empty.
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import type { Steps } from "../../fairness/pieces.ts";
import { CONDITION_MARK } from "./choice.ts";
import { FAULTS_MARK, VISIT_MARK, visitUnits } from "./charges.ts";
import { dynamicResources, planScope, type ScopePlan } from "./dynamic_scope.ts";
import { FORMAT_NAMES } from "./formats/formats.ts";
import { findTargets, heldAt, type Place, type References } from "./references.ts";
import { type Holds, KEYWORDS, LEFT_OUT } from "./vocabulary.ts";
import { partsOf } from "./schema_size.ts";

/** The marks of every schema that is created here. */
const MARKS: JsonObject = { [VISIT_MARK]: visitUnits({}), [FAULTS_MARK]: true };

interface Rewriting {
  readonly references: References;
  /** All schemas that become functions. */
  readonly functions: ReadonlySet<Place>;
  /** The number of each function that is used. */
  readonly numbers: Map<Place, number>;
  /** By number; an entry that is not rewritten yet is only kept free. */
  readonly rewritten: (JsonObject | boolean)[];
  /** By number: the schemas that are still to be rewritten. */
  readonly waiting: Map<number, Place>;
  readonly hasUnevaluated: boolean;
}

export interface RewrittenSchema {
  readonly functions: readonly (JsonObject | boolean)[];
  /** Undefined if no reference has to be resolved at run time. */
  readonly scope: ScopePlan | undefined;
}

/**
 * Rewrites the schema to functions for ajv that call each other by number; the first is the
 * schema itself. `references` must come from a schema without faults.
 */
export function* rewriteSchema(references: References): Steps<RewrittenSchema> {
  const resources = yield* dynamicResources(references);
  const targets = yield* findTargets(references);
  const root = references.places.get("")!;
  const rewriting: Rewriting = {
    references,
    functions: yield* chooseFunctions(root, [...targets, ...resources.roots]),
    numbers: new Map(),
    rewritten: [],
    waiting: new Map(),
    hasUnevaluated: usesUnevaluated(references),
  };
  const { rewritten, waiting } = rewriting;
  nameOf(root, rewriting);
  for (let number = 0; number < rewritten.length; number++) {
    const place = waiting.get(number);
    if (place === undefined) continue;
    rewritten[number] = yield* rewriteAt(place, rewriting);
    waiting.delete(number);
  }
  return { functions: rewritten, scope: yield* planScope(resources, rewriting.numbers) };
}

/** True when the validator must record what each schema evaluates. */
export function usesUnevaluated(references: References): boolean {
  return [...references.places.values()].some(({ schema }) =>
    isJsonObject(schema) &&
    (schema.unevaluatedProperties !== undefined || schema.unevaluatedItems !== undefined)
  );
}

/**
 * Returns the schema itself, or a call if it is a function. So each schema is compiled once,
 * however many references lead into the schemas around it.
 */
function* rewriteChild(place: Place, rewriting: Rewriting): Steps<JsonObject | boolean> {
  yield;
  const isFunction = rewriting.functions.has(place);
  return isFunction
    ? { ...MARKS, $ref: nameOf(place, rewriting) }
    : yield* rewriteAt(place, rewriting);
}

function* rewriteAt(place: Place, rewriting: Rewriting): Steps<JsonObject | boolean> {
  const { schema } = place;
  if (!isJsonObject(schema)) return schema === true;
  const result: JsonObject = { [VISIT_MARK]: visitUnits(schema), [FAULTS_MARK]: true };
  for (const [keyword, value] of Object.entries(schema)) {
    if (LEFT_OUT.has(keyword) || !KEYWORDS.has(keyword)) continue;
    if (keyword === "format" && !FORMAT_NAMES.has(value as string)) continue;
    if (keyword === "$ref" || keyword === "$dynamicRef") continue;
    const holds = KEYWORDS.get(keyword)?.holds;
    const held = place.held.get(keyword) ?? [];
    result[keyword] = holds === undefined ? value : yield* rewriteHeld(holds, held, rewriting);
  }
  addReferences(place, result, rewriting);
  replaceCondition(result, place, rewriting);
  moveProtoProperty(result);
  boundContains(result);
  divide(result, rewriting);
  return result;
}

function addReferences(place: Place, result: JsonObject, rewriting: Rewriting): void {
  const { ref, dynamicRef, several } = rewriting.references.targetsOf(place);
  if (ref !== undefined) addReference(nameOf(ref, rewriting), result);
  if (dynamicRef === undefined) return;
  const number = nameOf(dynamicRef, rewriting);
  for (const target of several?.places ?? []) nameOf(target, rewriting);
  addReference(several === undefined ? number : `${number} ${several.anchor}`, result);
}

/** A schema may have both kinds of reference; then both apply. */
function addReference(target: string, result: JsonObject): void {
  if (result.$ref === undefined) result.$ref = target;
  else result.allOf = [...(result.allOf as JsonValue[] ?? []), { ...MARKS, $ref: target }];
}

function* rewriteHeld(
  holds: Holds,
  held: readonly Place[],
  rewriting: Rewriting,
): Steps<JsonValue> {
  if (holds === "schema") return yield* rewriteChild(held[0]!, rewriting);
  const entries: [string, JsonObject | boolean][] = [];
  for (const place of held) entries.push([place.key, yield* rewriteChild(place, rewriting)]);
  if (holds === "list") return entries.map(([, schema]) => schema);
  // Entries, not assignments: a key may be `__proto__`.
  return Object.fromEntries(entries);
}

/** The number of a function, as a string. */
function nameOf(place: Place, { numbers, rewritten, waiting }: Rewriting): string {
  let number = numbers.get(place);
  if (number === undefined) {
    number = rewritten.push(true) - 1;
    numbers.set(place, number);
    waiting.set(number, place);
  }
  return `${number}`;
}

/**
 * ajv loses what an `if` and its branches evaluate when one of them is absent. A choice of "if
 * and then" or "not if and else" loses nothing. Its messages are poorer, so it is used only
 * when needed.
 */
function replaceCondition(schema: JsonObject, place: Place, rewriting: Rewriting): void {
  if (schema.if === undefined || !rewriting.hasUnevaluated) return;
  // By reference, not by copy: nested conditions would double the schema at each level.
  const condition = { ...MARKS, $ref: nameOf(heldAt(place, "if")!, rewriting) };
  const choice = {
    [CONDITION_MARK]: true,
    ...MARKS,
    anyOf: [
      { ...MARKS, allOf: [condition, schema.then ?? true] },
      { ...MARKS, allOf: [{ not: condition }, schema.else ?? true] },
    ],
  };
  for (const keyword of ["if", "then", "else"]) delete schema[keyword];
  schema.allOf = [...(schema.allOf as JsonValue[] ?? []), choice];
}

/** Stands for the absence of `maxContains`; more items than any event has. */
export const CONTAINS_UNBOUNDED = 2 ** 32;

/** Without `maxContains`, ajv repeats the previous array's result for an empty array. */
function boundContains(schema: JsonObject): void {
  if (schema.contains !== undefined) schema.maxContains ??= CONTAINS_UNBOUNDED;
}

/** ajv ignores a property called `__proto__`, but not a pattern that matches it. */
function moveProtoProperty(schema: JsonObject): void {
  const { properties } = schema;
  if (!isJsonObject(properties) || !Object.hasOwn(properties, "__proto__")) return;
  const entries = Object.entries(properties);
  const proto = entries.find(([key]) => key === "__proto__")![1];
  schema.properties = Object.fromEntries(entries.filter(([key]) => key !== "__proto__"));
  const patterns = isJsonObject(schema.patternProperties) ? schema.patternProperties : {};
  schema.patternProperties = { ...patterns, "^(?:__proto__)$": proto };
}

/** Maximum properties, patterns and calls in one function, if a schema has many. */
const PROPERTIES_OF_FUNCTION = 100;
const PATTERNS_OF_FUNCTION = 25;
const CALLS_OF_FUNCTION = 50;

/** Divides long lists of properties, patterns and calls among several functions. */
function divide(schema: JsonObject, rewriting: Rewriting): void {
  divideMap(schema, "properties", PROPERTIES_OF_FUNCTION, rewriting);
  divideMap(schema, "patternProperties", PATTERNS_OF_FUNCTION, rewriting);
  const { allOf } = schema;
  if (!Array.isArray(allOf) || allOf.length <= CALLS_OF_FUNCTION) return;
  const parts = inGroups(allOf, CALLS_OF_FUNCTION);
  schema.allOf = parts.map((part) => callOf({ ...MARKS, allOf: part }, rewriting));
}

/** The schema itself keeps the names if other keywords depend on them. */
function divideMap(
  schema: JsonObject,
  keyword: "properties" | "patternProperties",
  count: number,
  rewriting: Rewriting,
): void {
  const map = schema[keyword];
  if (!isJsonObject(map)) return;
  const checked = Object.entries(map).filter(([, value]) => value !== true);
  if (checked.length <= count) return;
  const isAsked = rewriting.hasUnevaluated || schema.additionalProperties !== undefined;
  if (isAsked) schema[keyword] = Object.fromEntries(Object.keys(map).map((name) => [name, true]));
  else delete schema[keyword];
  const calls = inGroups(checked, count).map((part) =>
    callOf({ ...MARKS, [keyword]: Object.fromEntries(part) }, rewriting)
  );
  schema.allOf = [...(schema.allOf as JsonValue[] ?? []), ...calls];
}

function inGroups<T>(list: readonly T[], count: number): T[][] {
  const parts: T[][] = [];
  for (let first = 0; first < list.length; first += count) {
    parts.push(list.slice(first, first + count));
  }
  return parts;
}

function callOf(schema: JsonObject, { rewritten }: Rewriting): JsonObject {
  return { ...MARKS, $ref: `${rewritten.push(schema) - 1}` };
}

/** Parts of one function at most, if its schema can be divided. */
const FUNCTION_PARTS = 200;
/** Parts that a call of a function counts for in its caller. */
const CALL_PARTS = 2;
/** Characters of the path from a function to a schema inside it. */
const PATH_CHARACTERS = 160;

/**
 * The schemas that become functions: `targets`, which references mean, and as many others as it
 * takes to keep each function small. Compiling then proceeds in small pieces, and the path stored
 * for each fault in the generated code stays short.
 */
function* chooseFunctions(
  root: Place,
  targets: Iterable<Place>,
): Steps<ReadonlySet<Place>> {
  const functions = new Set(targets);
  yield* measure(root, 0, functions);
  return functions;
}

/** Counts the parts of the schema at `place` that stay in the enclosing function. */
function* measure(place: Place, start: number, functions: Set<Place>): Steps<number> {
  const { pointer, schema } = place;
  if (!isJsonObject(schema)) return 1;
  if (pointer.length - start > PATH_CHARACTERS) functions.add(place);
  const own = functions.has(place) ? pointer.length : start;
  let parts = partsOf(schema);
  const children: { readonly place: Place; readonly parts: number }[] = [];
  for (const [keyword, held] of place.held) {
    for (const child of held) {
      const inner = yield* measure(child, own, functions);
      yield;
      if (LEFT_OUT.has(keyword)) continue;
      parts += inner;
      children.push({ place: child, parts: inner });
    }
  }
  // Largest first, so that few functions suffice.
  children.sort((a, b) => b.parts - a.parts);
  for (const child of children) {
    if (parts <= FUNCTION_PARTS || child.parts <= CALL_PARTS) break;
    functions.add(child.place);
    parts -= child.parts - CALL_PARTS;
  }
  return functions.has(place) ? CALL_PARTS : parts;
}
