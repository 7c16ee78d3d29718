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
import { findTargets, type References } from "./references.ts";
import { escapePointer, type Holds, KEYWORDS, LEFT_OUT, subschemasOf } from "./vocabulary.ts";
import { partsOf } from "./schema_size.ts";
import { TextMap, type Texts, TextSet } from "../../lookup/text_map.ts";

/** The marks of every schema that is created here. */
const MARKS: JsonObject = { [VISIT_MARK]: visitUnits({}), [FAULTS_MARK]: true };

interface Rewriting {
  readonly references: References;
  /** The pointers of all schemas that become functions. */
  readonly functions: Texts;
  /** The number of each function that is used, by its pointer. */
  readonly numbers: TextMap<number>;
  /** By number; an entry that is not rewritten yet is a pointer. */
  readonly rewritten: (JsonObject | boolean | string)[];
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
  const resources = dynamicResources(references);
  const rewriting: Rewriting = {
    references,
    functions: yield* chooseFunctions(references, [...findTargets(references), ...resources.roots]),
    numbers: new TextMap([["", 0]]),
    rewritten: [""],
    hasUnevaluated: usesUnevaluated(references),
  };
  const { rewritten } = rewriting;
  for (let number = 0; number < rewritten.length; number++) {
    const next = rewritten[number]!;
    if (typeof next === "string") rewritten[number] = yield* rewriteAt(next, rewriting);
  }
  return {
    functions: rewritten as (JsonObject | boolean)[],
    scope: planScope(resources, references, rewriting.numbers),
  };
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
function* rewriteChild(pointer: string, rewriting: Rewriting): Steps<JsonObject | boolean> {
  yield;
  const isFunction = rewriting.functions.has(pointer);
  return isFunction
    ? { ...MARKS, $ref: nameOf(pointer, rewriting) }
    : yield* rewriteAt(pointer, rewriting);
}

function* rewriteAt(pointer: string, rewriting: Rewriting): Steps<JsonObject | boolean> {
  const { schema } = rewriting.references.places.get(pointer)!;
  if (!isJsonObject(schema)) return schema === true;
  const result: JsonObject = { [VISIT_MARK]: visitUnits(schema), [FAULTS_MARK]: true };
  for (const [keyword, value] of Object.entries(schema)) {
    if (LEFT_OUT.has(keyword) || !KEYWORDS.has(keyword)) continue;
    if (keyword === "format" && !FORMAT_NAMES.has(value as string)) continue;
    if (keyword === "$ref" || keyword === "$dynamicRef") continue;
    const holds = KEYWORDS.get(keyword)?.holds;
    const place = `${pointer}/${keyword}`;
    result[keyword] = holds === undefined
      ? value
      : yield* rewriteHeld(holds, value, place, rewriting);
  }
  addReferences(schema, pointer, result, rewriting);
  replaceCondition(result, pointer, rewriting);
  moveProtoProperty(result);
  boundContains(result);
  divide(result, rewriting);
  return result;
}

function addReferences(
  schema: JsonObject,
  pointer: string,
  result: JsonObject,
  rewriting: Rewriting,
): void {
  const { references } = rewriting;
  for (const keyword of ["$ref", "$dynamicRef"]) {
    const reference = schema[keyword];
    if (typeof reference !== "string") continue;
    const number = nameOf(references.resolve(reference, pointer)!, rewriting);
    const dynamic = keyword === "$dynamicRef"
      ? references.dynamicTargets(reference, pointer)
      : undefined;
    for (const target of dynamic?.pointers ?? []) nameOf(target, rewriting);
    addReference(dynamic === undefined ? number : `${number} ${dynamic.anchor}`, result);
  }
}

/** A schema may have both kinds of reference; then both apply. */
function addReference(target: string, result: JsonObject): void {
  if (result.$ref === undefined) result.$ref = target;
  else result.allOf = [...(result.allOf as JsonValue[] ?? []), { ...MARKS, $ref: target }];
}

function* rewriteHeld(
  holds: Holds,
  value: JsonValue,
  place: string,
  rewriting: Rewriting,
): Steps<JsonValue> {
  if (holds === "schema") return yield* rewriteChild(place, rewriting);
  if (holds === "list") {
    const list: JsonValue[] = [];
    for (const index of (value as JsonValue[]).keys()) {
      list.push(yield* rewriteChild(`${place}/${index}`, rewriting));
    }
    return list;
  }
  const entries: [string, JsonValue][] = [];
  for (const key of Object.keys(value as JsonObject)) {
    entries.push([key, yield* rewriteChild(`${place}/${escapePointer(key)}`, rewriting)]);
  }
  // Entries, not assignments: a key may be `__proto__`.
  return Object.fromEntries(entries);
}

/** The number of a function, as a string. */
function nameOf(pointer: string, rewriting: Rewriting): string {
  let number = rewriting.numbers.get(pointer);
  if (number === undefined) {
    number = rewriting.rewritten.push(pointer) - 1;
    rewriting.numbers.set(pointer, number);
  }
  return `${number}`;
}

/**
 * ajv loses what an `if` and its branches evaluate when one of them is absent. A choice of "if
 * and then" or "not if and else" loses nothing. Its messages are poorer, so it is used only
 * when needed.
 */
function replaceCondition(schema: JsonObject, pointer: string, rewriting: Rewriting): void {
  if (schema.if === undefined || !rewriting.hasUnevaluated) return;
  // By reference, not by copy: nested conditions would double the schema at each level.
  const condition = { ...MARKS, $ref: nameOf(`${pointer}/if`, rewriting) };
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
 * The pointers of schemas that become functions: `targets`, which references mean, and as many
 * others as it takes to keep each function small. Compiling then proceeds in small pieces, and
 * the path stored for each fault in the generated code stays short.
 */
function* chooseFunctions(
  references: References,
  targets: Iterable<string>,
): Steps<Texts> {
  const functions = new TextSet(targets);
  yield* measure("", 0, { references, functions });
  return functions;
}

interface Choosing {
  readonly references: References;
  readonly functions: TextSet;
}

/** Counts the parts of the schema at `pointer` that stay in the enclosing function. */
function* measure(pointer: string, start: number, choosing: Choosing): Steps<number> {
  const { references, functions } = choosing;
  const { schema } = references.places.get(pointer)!;
  if (!isJsonObject(schema)) return 1;
  if (pointer.length - start > PATH_CHARACTERS) functions.add(pointer);
  const own = functions.has(pointer) ? pointer.length : start;
  let parts = partsOf(schema);
  const children: { readonly pointer: string; readonly parts: number }[] = [];
  for (const child of subschemasOf(schema)) {
    const place = pointer + child.pointer;
    const inner = yield* measure(place, own, choosing);
    yield;
    if (LEFT_OUT.has(child.keyword)) continue;
    parts += inner;
    children.push({ pointer: place, parts: inner });
  }
  // Largest first, so that few functions suffice.
  children.sort((a, b) => b.parts - a.parts);
  for (const child of children) {
    if (parts <= FUNCTION_PARTS || child.parts <= CALL_PARTS) break;
    functions.add(child.pointer);
    parts -= child.parts - CALL_PARTS;
  }
  return functions.has(pointer) ? CALL_PARTS : parts;
}
