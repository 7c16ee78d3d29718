/**
 * What the validator found, put into words for the sender of an event: a dotted path and a sentence.
 * Decisions 3: a missing or unwanted property is named by its own path, `data` where the root fails.
 */

import type { ErrorObject } from "ajv";
import type { DataFault } from "../../refusal.ts";

/** Longest path given back; a longer one is cut, for keys may be as long as the data. */
const PATH_CHARACTERS_MAX = 500;

/** One fault of the validator, e.g. `{path: "data.lines.0.qty", message: "must be >= 1"}`. */
export function describeDataFault(error: ErrorObject): DataFault {
  return { path: faultPath(error), message: faultMessage(error) };
}

function faultPath(error: ErrorObject): string {
  const segments = error.instancePath.split("/").slice(1).map(unescapePointer);
  const own = ownProperty(error);
  if (own !== undefined) segments.push(own);
  const path = ["data", ...segments].join(".");
  return path.length <= PATH_CHARACTERS_MAX ? path : path.slice(0, PATH_CHARACTERS_MAX - 3) + "...";
}

/** The property that is itself missing or unwanted, as against the object that was looked at. */
function ownProperty(error: ErrorObject): string | undefined {
  switch (error.keyword) {
    case "required":
    case "dependentRequired":
      return error.params.missingProperty;
    case "additionalProperties":
      return error.params.additionalProperty;
    case "unevaluatedProperties":
      return error.params.unevaluatedProperty;
    case "propertyNames":
      return error.params.propertyName;
    default:
      return undefined;
  }
}

function unescapePointer(segment: string): string {
  return segment.replaceAll("~1", "/").replaceAll("~0", "~");
}

const MESSAGES: Readonly<Record<string, (params: Record<string, unknown>) => string>> = {
  required: () => "is required",
  dependentRequired: (params) => `is required when ${params.property} is present`,
  additionalProperties: () => "is not allowed here",
  unevaluatedProperties: () => "is not allowed here",
  unevaluatedItems: () => "has more items than allowed",
  propertyNames: () => "has a name that is not allowed",
  "false schema": () => "is not allowed here",
  type: (params) => `must be ${[params.type].flat().map(withArticle).join(" or ")}`,
  minLength: (params) => `must have at least ${count(params.limit, "character")}`,
  maxLength: (params) => `must have at most ${count(params.limit, "character")}`,
  minItems: (params) => `must have at least ${count(params.limit, "item")}`,
  maxItems: (params) => `must have at most ${count(params.limit, "item")}`,
  minProperties: (params) => `must have at least ${count(params.limit, "property", "properties")}`,
  maxProperties: (params) => `must have at most ${count(params.limit, "property", "properties")}`,
  uniqueItems: () => "must not have the same item twice",
  anyOf: () => "must match at least one of the allowed forms",
  oneOf: (params) =>
    params.passingSchemas ? "matches more than one form" : "must match exactly one allowed form",
  not: () => "has a form that is not allowed",
  if: (params) => `must match the "${params.failingKeyword}" form`,
  format: (params) => `must be a valid ${params.format}`,
};

function faultMessage(error: ErrorObject): string {
  const message = Object.hasOwn(MESSAGES, error.keyword)
    ? MESSAGES[error.keyword]!(error.params)
    : error.message ?? "is not valid";
  return message.length <= 300 ? message : message.slice(0, 297) + "...";
}

function withArticle(type: unknown): string {
  if (type === "null") return "null";
  return `${type === "array" || type === "object" || type === "integer" ? "an" : "a"} ${type}`;
}

function count(limit: unknown, one: string, many = `${one}s`): string {
  return `${limit} ${limit === 1 ? one : many}`;
}
