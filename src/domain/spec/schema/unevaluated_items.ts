/**
 * `unevaluatedItems` where the validator would not do what the draft says: beside `contains`, and,
 * in a branch that may or may not apply, with `items`, `prefixItems` or a reference to a schema
 * that refers back to itself. Refused at deploy, so that no event is judged wrongly.
 */

import { type Budget, BudgetSpent, newBudget, spend } from "../../budget.ts";
import { isJsonObject } from "../../json.ts";
import type { Steps } from "../../pieces.ts";
import type { FaultList } from "../fault_list.ts";
import { sameValue } from "./loops.ts";
import { type References, referencesIn } from "./references.ts";
import { subschemasOf } from "./vocabulary.ts";

const CONDITIONAL = /\/(?:anyOf|oneOf|if|then|else|dependentSchemas)(?:\/[^/]*)?$/;

/** Reports each `unevaluatedItems` that cannot be relied on. The schema must have no loops. */
export function* checkUnevaluatedItems(
  references: References,
  pathOf: (pointer: string) => string,
  faults: FaultList,
): Steps<void> {
  const search = { references, budget: newBudget(SEARCH_UNITS), recursive: new Map() };
  for (const [pointer, { schema }] of references.places) {
    yield;
    if (!isJsonObject(schema) || schema.unevaluatedItems === undefined) continue;
    const keyword = yield* searchWithin(pointer, search);
    if (keyword === undefined) continue;
    faults.add(
      "not_available",
      `${pathOf(pointer)}.unevaluatedItems`,
      `This version of the service does not run unevaluatedItems together with ${keyword} yet.`,
      "Describe the items with prefixItems and items, or leave unevaluatedItems out.",
    );
  }
}

/** What looking for all of them may cost, in the coin of `budget.ts`. */
const SEARCH_UNITS = 4_000_000;
const UNITS_PER_SCHEMA = 200;

interface Search {
  readonly references: References;
  readonly budget: Budget;
  /** By pointer: whether the schema leads back to itself. */
  readonly recursive: Map<string, boolean>;
}

function* searchWithin(pointer: string, search: Search): Steps<string | undefined> {
  try {
    return yield* findUnreliable(pointer, search);
  } catch (error) {
    if (error instanceof BudgetSpent) return "so many other schemas";
    throw error;
  }
}

function* findUnreliable(start: string, search: Search): Steps<string | undefined> {
  const { references, budget } = search;
  const pending: [string, boolean][] = [[start, false]];
  const seen = new Set<string>();
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    yield;
    spend(budget, UNITS_PER_SCHEMA);
    const [pointer, isConditional] = next;
    if (seen.has(`${isConditional} ${pointer}`)) continue;
    seen.add(`${isConditional} ${pointer}`);
    const schema = references.places.get(pointer)?.schema;
    if (!isJsonObject(schema)) continue;
    if (schema.contains !== undefined) return "contains";
    if (isConditional && (schema.items ?? schema.prefixItems) !== undefined) {
      return "items or prefixItems in a branch";
    }
    for (const target of isConditional ? targetsOf(pointer, references) : []) {
      if (yield* isRecursive(target, search)) return "a recursive schema in a branch";
    }
    for (const child of sameValue(pointer, references)) {
      pending.push([child, isConditional || CONDITIONAL.test(child)]);
    }
  }
  return undefined;
}

function targetsOf(pointer: string, references: References): string[] {
  const schema = references.places.get(pointer)?.schema;
  return schema === undefined
    ? []
    : referencesIn(schema).map((reference) => references.resolve(reference, pointer)!);
}

/** Whether a schema leads back to itself, be it by way of the data that it looks into. */
function* isRecursive(start: string, search: Search): Steps<boolean> {
  const known = search.recursive.get(start);
  if (known !== undefined) return known;
  const found = yield* leadsBack(start, search);
  search.recursive.set(start, found);
  return found;
}

function* leadsBack(start: string, { references, budget }: Search): Steps<boolean> {
  const pending = [start];
  const seen = new Set<string>();
  for (let pointer = pending.pop(); pointer !== undefined; pointer = pending.pop()) {
    yield;
    spend(budget, UNITS_PER_SCHEMA);
    const schema = references.places.get(pointer)?.schema;
    if (!isJsonObject(schema)) continue;
    const children = subschemasOf(schema).map((child) => pointer + child.pointer);
    for (const next of [...targetsOf(pointer, references), ...children]) {
      if (next === start) return true;
      if (seen.has(next)) continue;
      seen.add(next);
      pending.push(next);
    }
  }
  return false;
}
