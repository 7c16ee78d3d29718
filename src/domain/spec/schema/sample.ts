/**
 * Creates a sample value that is valid under a schema, to show what valid data looks like.
 *
 * It handles only keywords for which a value can be written down directly; a schema that needs
 * others has no sample. Bounded: a sample has few values, and each requires looking at one
 * schema.
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import { FORMAT_NAMES } from "./formats/formats.ts";
import { KEYWORDS, LEFT_OUT, unescapePointer } from "./vocabulary.ts";
import { TextSet } from "../../lookup/text_map.ts";

const VALUES_MAX = 100;
const DEPTH_MAX = 8;
const TEXT_CHARACTERS_MAX = 100;
const ITEMS_MAX = 10;
const PROPERTIES_MAX = 50;

/** The keywords it can satisfy, besides annotations. */
const KEPT: ReadonlySet<string> = new Set(
  ("type properties required additionalProperties unevaluatedProperties items minItems maxItems " +
    "uniqueItems minLength maxLength format minimum maximum exclusiveMinimum exclusiveMaximum " +
    "multipleOf").split(" "),
);

const TEXTS: ReadonlyMap<string, string> = new Map([
  ["date", "2026-01-31"],
  ["time", "09:30:00Z"],
  ["date-time", "2026-01-31T09:30:00Z"],
  ["duration", "P1D"],
  ["email", "jane@example.com"],
  ["idn-email", "jane@example.com"],
  ["hostname", "example.com"],
  ["idn-hostname", "example.com"],
  ["ipv4", "192.0.2.1"],
  ["ipv6", "2001:db8::1"],
  ["uri", "https://example.com/a"],
  ["uri-reference", "/a"],
  ["iri", "https://example.com/a"],
  ["iri-reference", "/a"],
  ["url", "https://example.com/a"],
  ["uuid", "2eb8aa08-aa98-11ea-b4aa-73b441d16380"],
  ["byte", "AAEC"],
  ["password", "secret-enough"],
]);

interface Sampling {
  readonly root: JsonValue;
  valuesLeft: number;
}

/**
 * A valid object for `schema`, which has been checked at deploy; undefined if there is no
 * sample.
 */
export function sampleObject(schema: JsonValue): JsonObject | undefined {
  const sample = sampleOf(schema, "object", 0, { root: schema, valuesLeft: VALUES_MAX });
  return sample !== undefined && isJsonObject(sample) ? sample : undefined;
}

/** `usual`: the type to use if the schema accepts any. */
function sampleOf(
  schema: JsonValue,
  usual: string,
  depth: number,
  sampling: Sampling,
): JsonValue | undefined {
  if (--sampling.valuesLeft < 0 || depth > DEPTH_MAX || schema === false) return undefined;
  if (!isJsonObject(schema)) return usual === "object" ? {} : "text";
  // An `$id` would change the meaning of its references.
  if (schema.$id !== undefined && schema !== sampling.root) return undefined;
  const asserted = Object.keys(schema).filter((key) => KEYWORDS.has(key) && !LEFT_OUT.has(key));
  if (asserted.includes("$ref")) {
    const target = asserted.length === 1 ? targetOf(schema.$ref as string, sampling.root) : false;
    return sampleOf(target, usual, depth + 1, sampling);
  }
  if (asserted.includes("anyOf") && asserted.length === 1) {
    return firstSample(schema.anyOf as JsonValue[], usual, depth, sampling);
  }
  const type = typeOf(schema, usual);
  const values = schema.const !== undefined ? [schema.const] : schema.enum as JsonValue[];
  if (values !== undefined) {
    const isSimple = asserted.every((key) => key === "type" || key === "enum" || key === "const");
    return isSimple ? valueOf(values, schema) : undefined;
  }
  if (!asserted.every((key) => KEPT.has(key))) return undefined;
  switch (type) {
    case "object":
      return objectOf(schema, depth, sampling);
    case "array":
      return arrayOf(schema, depth, sampling);
    case "string":
      return textOf(schema);
    case "number":
    case "integer":
      return numberOf(schema, type);
    default:
      return type === "boolean" ? true : null;
  }
}

function typeOf({ type, properties, required, items }: JsonObject, usual: string): string {
  const types = [type ?? []].flat() as string[];
  if (types.length > 0) return types.find((one) => one !== "null") ?? "null";
  if (properties !== undefined || required !== undefined) return "object";
  return items !== undefined ? "array" : usual;
}

/** Resolves only JSON Pointers whose keys all exist. */
function targetOf(reference: string, root: JsonValue): JsonValue {
  if (!reference.startsWith("#/") || reference.includes("%")) return false;
  let found: JsonValue | undefined = root;
  for (const segment of reference.slice(2).split("/")) {
    const key = unescapePointer(segment);
    if (found === undefined || !isJsonObject(found) || !Object.hasOwn(found, key)) return false;
    if (found !== root && found.$id !== undefined) return false;
    found = found[key];
  }
  return found ?? false;
}

function firstSample(
  forms: readonly JsonValue[],
  usual: string,
  depth: number,
  sampling: Sampling,
): JsonValue | undefined {
  for (const form of forms.slice(0, ITEMS_MAX)) {
    const sample = sampleOf(form, usual, depth + 1, sampling);
    if (sample !== undefined) return sample;
  }
  return undefined;
}

/** The first scalar of an allowed type. */
function valueOf(values: readonly JsonValue[], { type }: JsonObject): JsonValue | undefined {
  const types = [type ?? []].flat() as string[];
  return values.slice(0, VALUES_MAX).find((value) => {
    if (typeof value === "object" && value !== null) return false;
    return types.length === 0 || types.includes(value === null ? "null" : typeof value) ||
      (Number.isInteger(value) && types.includes("integer"));
  });
}

function objectOf(schema: JsonObject, depth: number, sampling: Sampling): JsonObject | undefined {
  const properties = isJsonObject(schema.properties ?? null) ? schema.properties as JsonObject : {};
  const required = new TextSet(schema.required as string[] | undefined);
  if (required.size > PROPERTIES_MAX) return undefined;
  for (const name of required) if (!Object.hasOwn(properties, name)) return undefined;
  const result: [string, JsonValue][] = [];
  const optional = Object.keys(properties).filter((name) => !required.has(name));
  for (const name of [...required, ...optional].slice(0, PROPERTIES_MAX)) {
    const sample = sampleOf(properties[name]!, "string", depth + 1, sampling);
    if (sample !== undefined) result.push([name, sample]);
    else if (required.has(name)) return undefined;
  }
  return Object.fromEntries(result);
}

function arrayOf(schema: JsonObject, depth: number, sampling: Sampling): JsonValue[] | undefined {
  const least = schema.minItems as number ?? 0;
  const most = schema.maxItems as number ?? 1;
  const count = Math.max(least, Math.min(1, most));
  if (count > ITEMS_MAX || count > (schema.maxItems as number ?? count)) return undefined;
  if (schema.uniqueItems === true && count > 1) return undefined;
  const item = count === 0 ? null : sampleOf(schema.items ?? true, "string", depth + 1, sampling);
  if (item === undefined) return least === 0 ? [] : undefined;
  return Array<JsonValue>(count).fill(item);
}

function textOf({ format, minLength, maxLength }: JsonObject): string | undefined {
  const least = minLength as number ?? 0;
  const most = maxLength as number ?? TEXT_CHARACTERS_MAX;
  if (least > TEXT_CHARACTERS_MAX || least > most) return undefined;
  if (typeof format === "string" && FORMAT_NAMES.has(format)) {
    const text = TEXTS.get(format);
    return text !== undefined && text.length >= least && text.length <= most ? text : undefined;
  }
  return "text".padEnd(least, "-").slice(0, most);
}

function numberOf(schema: JsonObject, type: string): number | undefined {
  const bounds = ["minimum", "maximum", "multipleOf"].map((key) => schema[key] as number);
  const above = (schema.exclusiveMinimum as number ?? 0) + 1;
  const below = (schema.exclusiveMaximum as number ?? 0) - 1;
  const candidates = [1, 0, ...bounds, above, below].filter((value) => value !== undefined);
  return candidates.find((value) =>
    (type === "number" || Number.isInteger(value)) && Math.abs(value) < 2 ** 31 &&
    value >= (schema.minimum as number ?? value) && value <= (schema.maximum as number ?? value) &&
    value > (schema.exclusiveMinimum as number ?? -Infinity) &&
    value < (schema.exclusiveMaximum as number ?? Infinity) &&
    (schema.multipleOf === undefined || Number.isInteger(value / (schema.multipleOf as number))) &&
    (schema.format === undefined || Number.isInteger(value))
  );
}
