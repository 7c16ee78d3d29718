/**
 * Arranges the faults of a value that matches no alternative of an `anyOf` or `oneOf`.
 *
 * The choice itself comes first, followed by what keeps the value from the nearest alternative.
 */

import type { ErrorObject } from "ajv";
import { type Budget, spend } from "../../budget.ts";
import type { ChoiceParams } from "./choice.ts";

/** A fault and, if it is a choice, the faults of each of its branches. */
interface Found {
  readonly error: ErrorObject;
  readonly branches: readonly (readonly Found[])[];
}

/**
 * Arranges the validator's errors: each choice precedes its branches, and only the nearest
 * branch is kept.
 */
export function arrangeFaults(errors: readonly ErrorObject[], budget: Budget): ErrorObject[] {
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
