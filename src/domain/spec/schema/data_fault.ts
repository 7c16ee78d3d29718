/**
 * Words the validator's faults for the sender of an event: a dotted path and a sentence.
 *
 * A missing or unwanted property is named by its own path; a fault of the root is at `data`.
 * See docs/reference/errors.md.
 */

import type { ErrorObject } from "ajv";
import { type Budget, spend } from "../../budget.ts";
import { canonicalJson } from "../../canonical_json.ts";
import type { JsonValue } from "../../json.ts";
import type { DataFault } from "../../refusal.ts";
import type { ChoiceParams } from "./choice.ts";
import { CONTAINS_UNBOUNDED } from "./rewrite.ts";
import { unescapePointer } from "./vocabulary.ts";

/** Maximum length of a path in an answer. Longer ones are cut: keys may be as long as the data. */
const PATH_CHARACTERS_MAX = 500;
/** So many characters of a path with escapes always give more than an answer shows. */
const ESCAPED_CHARACTERS_MAX = 2 * PATH_CHARACTERS_MAX + 2;
/** Maximum length of a message in an answer. */
const MESSAGE_CHARACTERS_MAX = 300;
/** Units for wording one fault, and for each character of its path. */
const UNITS_PER_WORDING = 256;
const UNITS_PER_PATH_CHARACTER = 8;

/**
 * The first `max` faults of the validator, in the order found, a choice before its branches,
 * without repetitions. For example `{path: "data.lines.0.qty", message: "must be >= 1"}`.
 *
 * When the budget is used up by repetitions, it is the faults found so far, at least one.
 */
export function describeDataFaults(
  errors: readonly ErrorObject[],
  max: number,
  budget: Budget,
): DataFault[] {
  const faults = new Map<string, DataFault>();
  for (const error of arrangeFaults(errors, budget)) {
    const place = error.instancePath.slice(0, ESCAPED_CHARACTERS_MAX);
    const units = UNITS_PER_WORDING + UNITS_PER_PATH_CHARACTER * place.length;
    if (faults.size >= max || (faults.size > 0 && budget.left < units)) break;
    budget.left = Math.max(0, budget.left - units);
    const fault = { path: faultPath(place, ownProperty(error)), message: faultMessage(error) };
    faults.set(JSON.stringify(fault), fault);
  }
  return [...faults.values()];
}

/** `place`: the JSON Pointer of the value, cut. `own`: a property of it that is meant. */
function faultPath(place: string, own: string | undefined): string {
  const segments = place.split("/").slice(1).map(unescapePointer);
  if (own !== undefined) segments.push(own.slice(0, PATH_CHARACTERS_MAX));
  const path = ["data", ...segments].join(".");
  return path.length <= PATH_CHARACTERS_MAX ? path : path.slice(0, PATH_CHARACTERS_MAX - 3) + "...";
}

/** The missing or unwanted property itself, as opposed to the object that was examined. */
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

const MESSAGES: Readonly<Record<string, (params: Record<string, unknown>) => string>> = {
  required: () => "is required",
  dependentRequired: (params) => {
    const property = String(params.property).slice(0, MESSAGE_CHARACTERS_MAX);
    return `is required when ${property} is present`;
  },
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
  anyOf: choiceMessage,
  oneOf: choiceMessage,
  not: () => "has a form that is not allowed",
  minimum: compared,
  maximum: compared,
  exclusiveMinimum: compared,
  exclusiveMaximum: compared,
  pattern: (params) => `must match the pattern ${JSON.stringify(params.pattern)}`,
  contains: (params) => {
    const least = `must contain at least ${count(params.minContains, "valid item")}`;
    return params.maxContains === CONTAINS_UNBOUNDED
      ? least
      : `${least} and at most ${params.maxContains}`;
  },
  items: (params) => `must have at most ${count(params.limit, "item")}`,
  if: (params) => `must match the "${params.failingKeyword}" form`,
  format: (params) => `must be a valid ${params.format}`,
  enum: (params) => `must be one of ${listValues(params.allowed as JsonValue[])}`,
  const: (params) => `must be ${listValues([params.allowed as JsonValue])}`,
  multipleOf: (params) => `must be a multiple of ${params.allowed}`,
};

function choiceMessage(params: Record<string, unknown>): string {
  const { passing, ends } = params as unknown as ChoiceParams;
  if (passing !== null) return "matches more than one of the forms of which only one may match";
  if (ends.length === 1) return "does not match the one allowed form";
  return `matches none of the ${ends.length} allowed forms`;
}

function compared(params: Record<string, unknown>): string {
  return `must be ${params.comparison} ${params.limit}`;
}

function faultMessage(error: ErrorObject): string {
  const message = Object.hasOwn(MESSAGES, error.keyword)
    ? MESSAGES[error.keyword]!(error.params)
    : "is not valid";
  return message.length <= MESSAGE_CHARACTERS_MAX
    ? message
    : message.slice(0, MESSAGE_CHARACTERS_MAX - 3) + "...";
}

const SHOWN_CHARACTERS_MAX = 200;

/** At most ten values and 200 characters, because the list may be as long as the schema. */
function listValues(values: readonly JsonValue[]): string {
  const shown = values.slice(0, 10).map(showValue);
  if (values.length > shown.length) shown.push("...");
  const text = shown.join(", ");
  return text.length <= SHOWN_CHARACTERS_MAX
    ? text
    : text.slice(0, SHOWN_CHARACTERS_MAX - 3) + "...";
}

/** Encoded once for each value, which may be nearly as long as a spec. */
const shownValues = new WeakMap<object, string>();

function showValue(value: JsonValue): string {
  // One character more than is shown, so that the caller notices the cut.
  if (typeof value === "string") return JSON.stringify(value.slice(0, SHOWN_CHARACTERS_MAX + 1));
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  let shown = shownValues.get(value);
  if (shown === undefined) {
    shown = canonicalJson(value).slice(0, SHOWN_CHARACTERS_MAX + 1);
    shownValues.set(value, shown);
  }
  return shown;
}

function withArticle(type: unknown): string {
  if (type === "null") return "null";
  return `${type === "array" || type === "object" || type === "integer" ? "an" : "a"} ${type}`;
}

function count(limit: unknown, one: string, many = `${one}s`): string {
  return `${limit} ${limit === 1 ? one : many}`;
}

/** A fault and, if it is a choice, the faults of each of its branches. */
interface Found {
  readonly error: ErrorObject;
  readonly branches: readonly (readonly Found[])[];
}

/**
 * Arranges the validator's errors: each choice precedes its branches, and only the nearest
 * branch is kept.
 */
function arrangeFaults(errors: readonly ErrorObject[], budget: Budget): ErrorObject[] {
  return parse(errors, 0, errors.length).flatMap((found) => tell(found, budget));
}

/** Reads backwards, because the validator reports a choice after its branches. */
function parse(errors: readonly ErrorObject[], first: number, end: number): Found[] {
  const found: Found[] = [];
  for (let at = end - 1; at >= first; at--) {
    const error = errors[at]!;
    const choice = choiceOf(error);
    if (choice === undefined) {
      found.push({ error, branches: [] });
      continue;
    }
    const start = at - (choice.ends.at(-1) ?? 0);
    const branches = choice.ends.map((branchEnd, index) =>
      parse(errors, start + (choice.ends[index - 1] ?? 0), start + branchEnd)
    );
    found.push({ error, branches });
    at = start;
  }
  return found.reverse();
}

function choiceOf(error: ErrorObject): ChoiceParams | undefined {
  const isChoice = error.keyword === "anyOf" || error.keyword === "oneOf";
  return isChoice ? error.params as ChoiceParams : undefined;
}

function tell({ error, branches }: Found, budget: Budget): ErrorObject[] {
  const choice = choiceOf(error);
  if (choice === undefined) return [error];
  // Two alternatives match: the faults of the others would only mislead.
  if (choice.passing !== null) return [error];
  const tellAll = (faults: readonly Found[]) => faults.flatMap((found) => tell(found, budget));
  if (choice.isCondition) return tellAll(branchOfCondition(branches));
  return [error, ...tellAll(nearestBranch(branches, budget))];
}

/** The branches are "if and then" and "not if and else"; the one whose `if` side holds is meant. */
function branchOfCondition(branches: readonly (readonly Found[])[]): readonly Found[] {
  const [whenTrue = [], whenFalse = []] = branches;
  const holds = whenFalse.some(({ error }) => error.schemaPath.endsWith("/anyOf/1/allOf/0/not"));
  return holds ? whenTrue : whenFalse;
}

/** Units for comparing one fault with others, besides reading its path. */
const UNITS_PER_FAULT = 32;

/** The branch that the value's constant properties select, or the one it gets deepest into. */
function nearestBranch(
  branches: readonly (readonly Found[])[],
  budget: Budget,
): readonly Found[] {
  let best: readonly Found[] = [];
  let bestRank: readonly number[] = [];
  for (const branch of branches) {
    for (const { error } of branch) spend(budget, UNITS_PER_FAULT + error.instancePath.length);
    const isOther = branch.some(({ error }) => error.keyword === "const");
    const depth = branch.reduce((least, { error }) => Math.min(least, depthOf(error)), Infinity);
    const rank = [isOther ? 0 : 1, depth, -branch.length];
    if (bestRank.length > 0 && compareRanks(rank, bestRank) <= 0) continue;
    [best, bestRank] = [branch, rank];
  }
  return best;
}

function compareRanks(a: readonly number[], b: readonly number[]): number {
  const index = a.findIndex((value, place) => value !== b[place]);
  return index === -1 ? 0 : a[index]! - b[index]!;
}

/** A missing or unwanted property is one level below the object that was examined. */
const ABOUT_A_PROPERTY = new Set([
  "required",
  "dependentRequired",
  "additionalProperties",
  "unevaluatedProperties",
]);

function depthOf(error: ErrorObject): number {
  const below = ABOUT_A_PROPERTY.has(error.keyword) ? 1 : 0;
  return error.instancePath.split("/").length + below;
}
