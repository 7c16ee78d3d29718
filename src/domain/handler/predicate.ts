/**
 * Compiles predicates: comparisons, `in`, `not_in`, `exists`, `and`, `or`, `not`.
 *
 * The comparisons are `eq`/`equals`, `ne`/`not_equals`, `gt`, `gte`, `lt` and `lte`. See
 * docs/reference/expressions.md.
 *
 * - Equality is deep and never converts: 1 is not "1". The order of keys does not matter.
 * - Ordering compares two numbers, or two strings by UTF-16 code units; for other pairs it is
 *   false.
 * - `in` is false if its second operand is not a list; `ne` and `not_in` are exact negations.
 * - `exists` is true for an explicit null: it tests presence.
 * - `and` and `or` evaluate from left to right, stop as soon as the result is known, and have
 *   at least one part.
 * - If a path with a trailing `?` is missing in a part that was evaluated, the operation around
 *   the predicate is skipped; a standalone `condition` then counts as false.
 */

import { type Budget, spend } from "../budget.ts";
import { isJsonObject, type JsonValue } from "../json.ts";
import { isInList, isScalar, type ScalarList, scalarListOf } from "../lookup/scalar_list.ts";
import { STEP_UNITS } from "./budget.ts";
import { looksLikePath, valuePathAt } from "./path.ts";
import { templateAt } from "./template.ts";
import { addFault, childSite, type Evaluation, type Site, type Template } from "./evaluation.ts";
import { compareTexts, equalValues } from "./value.ts";

/** A compiled predicate. Undefined if an optional path is missing: the operation is skipped. */
export type Predicate = (evaluation: Evaluation) => boolean | undefined;

type Comparison = (left: JsonValue, right: JsonValue, budget: Budget) => boolean;

function equal(left: JsonValue, right: JsonValue, budget: Budget): boolean {
  return equalValues(left, right, budget);
}

function unequal(left: JsonValue, right: JsonValue, budget: Budget): boolean {
  return !equalValues(left, right, budget);
}

const COMPARISONS: Readonly<Record<string, Comparison>> = {
  eq: equal,
  equals: equal,
  ne: unequal,
  not_equals: unequal,
  gt: (left, right, budget) => compareOrder(left, right, budget) > 0,
  gte: (left, right, budget) => compareOrder(left, right, budget) >= 0,
  lt: (left, right, budget) => compareOrder(left, right, budget) < 0,
  lte: (left, right, budget) => compareOrder(left, right, budget) <= 0,
};

export const PREDICATE_NAMES = [
  ...Object.keys(COMPARISONS),
  ...["in", "not_in", "exists", "and", "or", "not"],
];

function never(): false {
  return false;
}

const HINT = `Predicates: ${PREDICATE_NAMES.join(", ")}`;

/** -1, 0 or 1; NaN, for which every comparison is false, if the two values have no order. */
function compareOrder(left: JsonValue, right: JsonValue, budget: Budget): number {
  if (typeof left === "number" && typeof right === "number") return Math.sign(left - right);
  if (typeof left !== "string" || typeof right !== "string") return NaN;
  return compareTexts(left, right, budget);
}

/** Compiles one predicate; it records faults, and a faulty predicate compiles to false. */
export function predicateAt(definition: JsonValue, site: Site): Predicate {
  if (!isJsonObject(definition)) {
    addFault(site, "predicate_invalid", "A predicate is an object", 'E.g. {"eq": [a, b]}');
    return never;
  }
  const names = Object.keys(definition);
  const name = names[0];
  if (name === undefined || names.length > 1) {
    addFault(
      site,
      "predicate_invalid",
      `A predicate has exactly one key; this one has ${names.length}`,
      'Join several with {"and": [...]} or {"or": [...]}',
    );
    return never;
  }
  return namedPredicate(name, definition[name] as JsonValue, childSite(site, name));
}

function namedPredicate(name: string, operand: JsonValue, site: Site): Predicate {
  if (Object.hasOwn(COMPARISONS, name)) {
    return comparisonPredicate(COMPARISONS[name] as Comparison, operand, site);
  }
  switch (name) {
    case "in":
      return membership(operand, true, site);
    case "not_in":
      return membership(operand, false, site);
    case "exists":
      return existence(operand, site);
    case "and":
      return joined(operand, false, site);
    case "or":
      return joined(operand, true, site);
    case "not":
      return negation(predicateAt(operand, site));
    default:
      addFault(site, "predicate_unknown", `There is no predicate "${name}"`, HINT);
      return never;
  }
}

/** Compiles two operands as templates. Undefined, after recording a fault, if there are not two. */
function pairAt(operand: JsonValue, site: Site): readonly [Template, Template] | undefined {
  if (!Array.isArray(operand) || operand.length !== 2) {
    addFault(
      site,
      "arity_invalid",
      "This predicate takes a list of exactly two operands",
      'E.g. ["$.data.status", "paid"]',
    );
    return undefined;
  }
  return [
    templateAt(operand[0] as JsonValue, childSite(site, 0)),
    templateAt(operand[1] as JsonValue, childSite(site, 1)),
  ];
}

function comparisonPredicate(compare: Comparison, operand: JsonValue, site: Site): Predicate {
  const pair = pairAt(operand, site);
  if (pair === undefined) return never;
  const [first, second] = pair;
  // Equality is symmetric; put the smaller operand on the left, because a state may be large.
  const isTurned = (compare === equal || compare === unequal) &&
    first.fromState && !second.fromState;
  return (evaluation) => {
    const { budget } = evaluation;
    spend(budget, STEP_UNITS);
    const left = first.view(evaluation);
    const right = second.view(evaluation);
    if (left === undefined || right === undefined) return undefined;
    return isTurned ? compare(right, left, budget) : compare(left, right, budget);
  };
}

function membership(operand: JsonValue, wanted: boolean, site: Site): Predicate {
  const pair = pairAt(operand, site);
  if (pair === undefined) return never;
  const [first, second] = pair;
  const constants = constantList(second.constant);
  return (evaluation) => {
    spend(evaluation.budget, STEP_UNITS);
    const value = first.view(evaluation);
    if (value === undefined) return undefined;
    if (constants !== undefined) return isListed(value, constants, evaluation.budget) === wanted;
    const list = second.view(evaluation);
    if (list === undefined) return undefined;
    return isElement(value, list, evaluation.budget) === wanted;
  };
}

/** A constant list of scalars is sorted, so that a lookup hardly depends on its length. */
function constantList(constant: JsonValue | undefined): ScalarList | undefined {
  // Bounded: a list in a definition.
  return Array.isArray(constant) && constant.every(isScalar) ? scalarListOf(constant) : undefined;
}

function isListed(value: JsonValue, list: ScalarList, budget: Budget): boolean {
  return isScalar(value) && isInList(value, list, budget);
}

function isElement(value: JsonValue, list: JsonValue, budget: Budget): boolean {
  if (!Array.isArray(list)) return false;
  for (const element of list) {
    spend(budget, STEP_UNITS);
    if (equalValues(value, element, budget)) return true;
  }
  return false;
}

function existence(operand: JsonValue, site: Site): Predicate {
  const explicit = isJsonObject(operand) && Object.keys(operand).length === 1 &&
    Object.hasOwn(operand, "$");
  const text = explicit ? operand["$"] : operand;
  if (typeof text !== "string" || !looksLikePath(text)) {
    addFault(site, "path_invalid", '"exists" takes a path', 'E.g. {"exists": "$.data.note"}');
    return never;
  }
  const path = valuePathAt(text, explicit ? childSite(site, "$") : site);
  if (path === undefined) return never;
  return (evaluation) => {
    spend(evaluation.budget, STEP_UNITS);
    return path.read(evaluation) !== undefined;
  };
}

function joined(operand: JsonValue, decisive: boolean, site: Site): Predicate {
  if (!Array.isArray(operand) || operand.length === 0) {
    addFault(
      site,
      "arity_invalid",
      "This predicate takes a list of at least one predicate",
      'E.g. [{"exists": "@.total"}, {"gt": ["@.total", 0]}]',
    );
    return never;
  }
  const parts = operand.map((each, index) => predicateAt(each, childSite(site, index)));
  return (evaluation) => {
    for (const part of parts) {
      const result = part(evaluation);
      if (result !== !decisive) return result;
    }
    return !decisive;
  };
}

function negation(inner: Predicate): Predicate {
  return (evaluation) => {
    const result = inner(evaluation);
    return result === undefined ? undefined : !result;
  };
}
