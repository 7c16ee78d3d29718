/**
 * The keywords of JSON Schema 2020-12: the values they take and where they hold further
 * schemas.
 *
 * All code that walks a schema uses this table, so that a keyword is known everywhere or
 * nowhere.
 */

import { newBudget } from "../../budget.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import { areDistinct } from "../../lookup/scalar_list.ts";

/** How a keyword holds schemas: it is one, a list of them, or an object of them. */
export type Holds = "schema" | "list" | "map";

interface Keyword {
  /** Undefined: any value. Otherwise a test of the value and the message when it fails. */
  readonly shape?: Shape;
  readonly holds?: Holds;
  /** True if the held schemas look at the same value as the schema that holds them. */
  readonly inPlace?: boolean;
}

interface Shape {
  readonly must: string;
  readonly test: (value: JsonValue) => boolean;
}

export const SIMPLE_TYPES = [
  "array",
  "boolean",
  "integer",
  "null",
  "number",
  "object",
  "string",
] as const;

function isString(value: JsonValue): value is string {
  return typeof value === "string";
}

function isUniqueStrings(value: JsonValue): boolean {
  return Array.isArray(value) && value.every(isString) && areDistinct(value, newBudget(Infinity));
}

function isTypeList(value: JsonValue): boolean {
  const isSimple = (type: JsonValue) => (SIMPLE_TYPES as readonly JsonValue[]).includes(type);
  return isSimple(value) || (isUniqueStrings(value) && (value as string[]).length > 0 &&
    (value as string[]).every(isSimple));
}

function isStringListMap(value: JsonValue): boolean {
  return isJsonObject(value) && Object.values(value).every(isUniqueStrings);
}

const string: Shape = { must: "be a string", test: isString };
const boolean: Shape = { must: "be true or false", test: (value) => typeof value === "boolean" };
const number: Shape = { must: "be a number", test: (value) => typeof value === "number" };
const list: Shape = { must: "be an array", test: Array.isArray };
const names: Shape = { must: "be an array of strings, each once", test: isUniqueStrings };
const length: Shape = {
  must: "be a non-negative integer",
  test: (value) => Number.isInteger(value) && (value as number) >= 0,
};
const divisor: Shape = {
  must: "be a number above 0",
  test: (value) => typeof value === "number" && value > 0,
};
const type: Shape = {
  must: `be one of ${SIMPLE_TYPES.join(", ")}, or a non-empty list of them, each once`,
  test: isTypeList,
};
const nameLists: Shape = {
  must: "be an object whose values are arrays of strings, each once",
  test: isStringListMap,
};
const anchor: Shape = {
  must: "be a name of letters, digits, '-', '_' and '.', starting with a letter or '_'",
  test: (value) => isString(value) && /^[A-Za-z_][-A-Za-z0-9._]*$/.test(value),
};

const inPlace = { inPlace: true } as const;

/**
 * Every keyword with a meaning here. A schema may have others; they are stored and ignored. A
 * Map rather than an object, because the keys of schemas come from outside.
 */
export const KEYWORDS: ReadonlyMap<string, Keyword> = new Map<string, Keyword>([
  ["$schema", {}],
  ["$id", { shape: string }],
  ["$ref", { shape: string }],
  ["$dynamicRef", { shape: string }],
  ["$anchor", { shape: anchor }],
  ["$dynamicAnchor", { shape: anchor }],
  ["$comment", {}],
  ["$defs", { holds: "map" }],
  ["definitions", { holds: "map" }],
  ["allOf", { holds: "list", ...inPlace }],
  ["anyOf", { holds: "list", ...inPlace }],
  ["oneOf", { holds: "list", ...inPlace }],
  ["not", { holds: "schema", ...inPlace }],
  ["if", { holds: "schema", ...inPlace }],
  ["then", { holds: "schema", ...inPlace }],
  ["else", { holds: "schema", ...inPlace }],
  ["dependentSchemas", { holds: "map", ...inPlace }],
  ["prefixItems", { holds: "list" }],
  ["items", { holds: "schema" }],
  ["contains", { holds: "schema" }],
  ["properties", { holds: "map" }],
  ["patternProperties", { holds: "map" }],
  ["additionalProperties", { holds: "schema" }],
  ["propertyNames", { holds: "schema" }],
  ["unevaluatedItems", { holds: "schema" }],
  ["unevaluatedProperties", { holds: "schema" }],
  ["type", { shape: type }],
  ["const", {}],
  ["enum", { shape: list }],
  ["multipleOf", { shape: divisor }],
  ["maximum", { shape: number }],
  ["exclusiveMaximum", { shape: number }],
  ["minimum", { shape: number }],
  ["exclusiveMinimum", { shape: number }],
  ["maxLength", { shape: length }],
  ["minLength", { shape: length }],
  ["pattern", { shape: string }],
  ["maxItems", { shape: length }],
  ["minItems", { shape: length }],
  ["uniqueItems", { shape: boolean }],
  ["maxContains", { shape: length }],
  ["minContains", { shape: length }],
  ["maxProperties", { shape: length }],
  ["minProperties", { shape: length }],
  ["required", { shape: names }],
  ["dependentRequired", { shape: nameLists }],
  ["format", { shape: string }],
  ["contentEncoding", { shape: string }],
  ["contentMediaType", { shape: string }],
  ["contentSchema", { holds: "schema" }],
  ["title", { shape: string }],
  ["description", { shape: string }],
  ["default", {}],
  ["examples", { shape: list }],
  ["deprecated", { shape: boolean }],
  ["readOnly", { shape: boolean }],
  ["writeOnly", { shape: boolean }],
]);

/** Annotations for human readers; they do not affect the keywords beside them. */
export const ANNOTATIONS: ReadonlySet<string> = new Set([
  "title",
  "description",
  "default",
  "examples",
  "deprecated",
  "readOnly",
  "writeOnly",
]);

/** Keywords that say nothing about data, or that are replaced when a schema is rewritten. */
export const LEFT_OUT: ReadonlySet<string> = new Set([
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
  ...ANNOTATIONS,
]);

/** Keywords of other drafts and dialects, which have no effect here, and what to write instead. */
export const FOREIGN_KEYWORDS: ReadonlyMap<string, string> = new Map([
  ["id", "Write $id."],
  ["additionalItems", "In 2020-12, write prefixItems for the first items and items for the rest."],
  ["dependencies", "In 2020-12, write dependentRequired or dependentSchemas."],
  ["$recursiveRef", "In 2020-12, write $dynamicRef."],
  ["$recursiveAnchor", "In 2020-12, write $dynamicAnchor."],
  ["$vocabulary", "It belongs to meta-schemas; remove it."],
  ["nullable", 'Write "type": [..., "null"].'],
  ["example", "Write examples, an array."],
]);

/** Notes for other tools: stored like all unknown keywords, but without a warning. */
export function isAnnotation(keyword: string): boolean {
  return keyword.startsWith("x-") || keyword === "discriminator";
}

export interface Subschema {
  readonly keyword: string;
  /** Its name or index under the keyword; the keyword itself if that holds one schema. */
  readonly key: string;
  /** JSON Pointer relative to the holding schema, e.g. `/properties/a~1b`. */
  readonly pointer: string;
  readonly schema: JsonValue;
}

/** Every schema that `schema` holds directly; values of the wrong shape are skipped. */
export function* subschemasOf(schema: JsonObject): Generator<Subschema> {
  for (const keyword of Object.keys(schema)) {
    const holds = KEYWORDS.get(keyword)?.holds;
    if (holds === undefined) continue;
    const value = schema[keyword]!;
    if (holds === "schema") {
      yield { keyword, key: keyword, pointer: `/${keyword}`, schema: value };
    } else if (holds === "list" && Array.isArray(value)) {
      for (const [index, item] of value.entries()) {
        yield { keyword, key: `${index}`, pointer: `/${keyword}/${index}`, schema: item };
      }
    } else if (holds === "map" && isJsonObject(value)) {
      for (const key of Object.keys(value)) {
        const pointer = `/${keyword}/${escapePointer(key)}`;
        yield { keyword, key, pointer, schema: value[key]! };
      }
    }
  }
}

export function escapePointer(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

export function unescapePointer(segment: string): string {
  return segment.replaceAll("~1", "/").replaceAll("~0", "~");
}
