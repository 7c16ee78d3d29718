/**
 * A checked schema in the form that the validator compiles: references by one plain name each,
 * annotations and `$id`s left out, `__proto__` as a pattern, and the price of a visit in each
 * schema. Reading the references ourselves keeps two event types with the same `$id` apart, and
 * ajv's own registry empty.
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import { CONDITION_MARK } from "./choice.ts";
import { FAULTS_MARK, VISIT_MARK, visitUnits } from "./charges.ts";
import { findTargets, type References } from "./references.ts";
import { escapePointer, type Holds, KEYWORDS } from "./vocabulary.ts";

/** What says nothing about data, or is replaced on the way. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  "$schema",
  "$id",
  "$anchor",
  "$dynamicAnchor",
  "$comment",
  "$defs",
  "definitions",
  "contentEncoding",
  "contentMediaType",
  "contentSchema",
  "title",
  "description",
  "default",
  "examples",
  "deprecated",
  "readOnly",
  "writeOnly",
]);

interface Rewriting {
  readonly references: References;
  /** Pointers of all schemas that some reference means. */
  readonly targets: ReadonlySet<string>;
  /** Pointer of each schema that is referred to, to its name in the result's `$defs`. */
  readonly names: Map<string, string>;
  /** Pointers that have a name and are not rewritten yet. */
  readonly pending: string[];
  readonly hasUnevaluated: boolean;
}

/** The schema for ajv. `references` must come from a schema without faults. */
export function rewriteSchema(references: References): JsonObject | boolean {
  const rewriting: Rewriting = {
    references,
    targets: findTargets(references),
    names: new Map(),
    pending: [],
    hasUnevaluated: usesUnevaluated(references),
  };
  const root = rewriteChild("", rewriting);
  if (typeof root === "boolean") return root;
  const definitions: JsonObject = {};
  for (let next = rewriting.pending.pop(); next !== undefined; next = rewriting.pending.pop()) {
    definitions[rewriting.names.get(next)!] = rewriteAt(next, rewriting);
  }
  return { ...root, $defs: definitions };
}

/** True when the validator must keep a record of what each schema evaluates. */
export function usesUnevaluated(references: References): boolean {
  return [...references.places.values()].some(({ schema }) =>
    isJsonObject(schema) &&
    (schema.unevaluatedProperties !== undefined || schema.unevaluatedItems !== undefined)
  );
}

/**
 * The schema itself, or its name where one is needed anyway: so that each schema is compiled once,
 * however many references lead into the schemas around it.
 */
function rewriteChild(pointer: string, rewriting: Rewriting): JsonObject | boolean {
  const isNamed = rewriting.targets.has(pointer);
  return isNamed ? { $ref: nameOf(pointer, rewriting) } : rewriteAt(pointer, rewriting);
}

function rewriteAt(pointer: string, rewriting: Rewriting): JsonObject | boolean {
  const { schema } = rewriting.references.places.get(pointer)!;
  if (!isJsonObject(schema)) return schema === true;
  const result: JsonObject = { [VISIT_MARK]: visitUnits(schema), [FAULTS_MARK]: true };
  for (const [keyword, value] of Object.entries(schema)) {
    if (LEFT_OUT.has(keyword)) continue;
    if (keyword === "$ref" || keyword === "$dynamicRef") continue;
    const holds = KEYWORDS.get(keyword)?.holds;
    const place = `${pointer}/${keyword}`;
    result[keyword] = holds === undefined ? value : rewriteHeld(holds, value, place, rewriting);
  }
  for (const reference of [schema.$ref, schema.$dynamicRef]) {
    if (typeof reference !== "string") continue;
    addReference(nameOf(rewriting.references.resolve(reference, pointer)!, rewriting), result);
  }
  replaceCondition(result, pointer, rewriting);
  moveProtoProperty(result);
  boundContains(result);
  return result;
}

/** A schema may have both kinds of reference: both hold. */
function addReference(target: string, result: JsonObject): void {
  if (result.$ref === undefined) result.$ref = target;
  else result.allOf = [...(result.allOf as JsonValue[] ?? []), { $ref: target }];
}

function rewriteHeld(
  holds: Holds,
  value: JsonValue,
  place: string,
  rewriting: Rewriting,
): JsonValue {
  if (holds === "schema") return rewriteChild(place, rewriting);
  if (holds === "list") {
    return (value as JsonValue[]).map((_, index) => rewriteChild(`${place}/${index}`, rewriting));
  }
  // Entries, not assignments: a key may be `__proto__`.
  return Object.fromEntries(
    Object.keys(value as JsonObject).map((key) => [
      key,
      rewriteChild(`${place}/${escapePointer(key)}`, rewriting),
    ]),
  );
}

function nameOf(pointer: string, rewriting: Rewriting): string {
  let name = rewriting.names.get(pointer);
  if (name === undefined) {
    name = `d${rewriting.names.size}`;
    rewriting.names.set(pointer, name);
    rewriting.pending.push(pointer);
  }
  return `#/$defs/${name}`;
}

/**
 * ajv loses what an `if` and its branches evaluate when one of them is absent. As a choice of "if
 * and then" or "not if and else" nothing is lost; the messages are poorer, so only where it
 * matters.
 */
function replaceCondition(schema: JsonObject, pointer: string, rewriting: Rewriting): void {
  if (schema.if === undefined || !rewriting.hasUnevaluated) return;
  // By name, not by copy: nested conditions would double the schema at each level.
  const condition = { $ref: nameOf(`${pointer}/if`, rewriting) };
  const marks = { [VISIT_MARK]: visitUnits({}), [FAULTS_MARK]: true };
  const choice = {
    [CONDITION_MARK]: true,
    ...marks,
    anyOf: [
      { ...marks, allOf: [condition, schema.then ?? true] },
      { ...marks, allOf: [{ not: condition }, schema.else ?? true] },
    ],
  };
  for (const keyword of ["if", "then", "else"]) delete schema[keyword];
  schema.allOf = [...(schema.allOf as JsonValue[] ?? []), choice];
}

/** Stands for no `maxContains`; more items than any event has. */
export const CONTAINS_UNBOUNDED = 2 ** 32;

/**
 * Without `maxContains`, ajv answers for an empty array what it answered for the array before it.
 */
function boundContains(schema: JsonObject): void {
  if (schema.contains !== undefined) schema.maxContains ??= CONTAINS_UNBOUNDED;
}

/** ajv passes over a property called `__proto__`, but not over a pattern that means it. */
function moveProtoProperty(schema: JsonObject): void {
  const { properties } = schema;
  if (!isJsonObject(properties) || !Object.hasOwn(properties, "__proto__")) return;
  const entries = Object.entries(properties);
  const proto = entries.find(([key]) => key === "__proto__")![1];
  schema.properties = Object.fromEntries(entries.filter(([key]) => key !== "__proto__"));
  const patterns = isJsonObject(schema.patternProperties) ? schema.patternProperties : {};
  schema.patternProperties = { ...patterns, "^(?:__proto__)$": proto };
}
