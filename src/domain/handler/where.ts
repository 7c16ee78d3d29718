/**
 * Compiles `where`: the fields or the predicate that select elements of an array.
 *
 * `{field: template, ...}` requires all fields to be equal; in a predicate the element is
 * `$item`. See docs/reference/expressions.md.
 *
 * - An object whose only key is the name of a predicate is a predicate. To compare a field of
 *   that name, write `{"eq": ["$item.in", ...]}`.
 * - Fields are dotted paths inside the element, so `address.city` and `["odd key"]` work. A
 *   missing field is null. An element that is not an object matches no fields, only predicates.
 * - `{}` is refused: it would select every element, which is hardly ever intended.
 */

import { spend } from "../budget.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { STEP_UNITS } from "./budget.ts";
import {
  addFault,
  childSite,
  type Evaluation,
  nextSlot,
  type Site,
  withNames,
} from "./evaluation.ts";
import { walker } from "./path.ts";
import { type Predicate, PREDICATE_NAMES, predicateAt } from "./predicate.ts";
import { fieldPathAt } from "./target.ts";
import { templateAt } from "./template.ts";
import { equalValues, isObject } from "./value.ts";

/** The name of the element in `where`, and in `map` without an `as`. */
export const ITEM_NAME = "item";

/**
 * Says for each index whether the element matches; undefined: skip the operation. Changes
 * nothing.
 */
export type Matcher = (
  list: readonly JsonValue[],
  evaluation: Evaluation,
) => readonly boolean[] | undefined;

/** No path can contain this name: it takes the slot of an element that has no name. */
const UNNAMED = "";

/**
 * Compiles a `where`; it records faults, and a faulty one matches nothing. The element is
 * `$item`. With `from: "outside"` only predicates see it as `$item`: the values that fields are
 * compared with are read outside the list, where `$item` may be another element.
 */
export function whereAt(
  definition: JsonValue,
  site: Site,
  from: "element" | "outside" = "element",
): Matcher {
  const slot = nextSlot(site.scope);
  const inside = withNames(site, [from === "element" ? ITEM_NAME : UNNAMED]);
  const matches = isPredicate(definition)
    ? predicateAt(definition, withNames(site, [ITEM_NAME]))
    : elementTest(definition, inside, slot);
  return (list, evaluation) => {
    const results: boolean[] = [];
    for (const element of list) {
      spend(evaluation.budget, STEP_UNITS);
      evaluation.bindings[slot] = element;
      const result = matches(evaluation);
      if (result === undefined) return undefined;
      results.push(result);
    }
    return results;
  };
}

function isPredicate(definition: JsonValue): boolean {
  const names = isJsonObject(definition) ? Object.keys(definition) : [];
  return names.length === 1 && PREDICATE_NAMES.includes(names[0]!);
}

function elementTest(definition: JsonValue, site: Site, slot: number): Predicate {
  const names = isJsonObject(definition) ? Object.keys(definition) : [];
  if (!isJsonObject(definition) || names.length === 0) {
    addFault(
      site,
      "where_invalid",
      '"where" is an object of fields to compare, or a predicate',
      'E.g. {"sku": "$.data.sku"} or {"gt": ["$item.qty", 0]}',
    );
    return () => false;
  }
  return fieldsTest(definition, site, slot);
}

function fieldsTest(definition: JsonObject, site: Site, slot: number): Predicate {
  let steps = 0;
  const fields = Object.keys(definition).map((name) => {
    const inside = childSite(site, name);
    const segments = fieldPathAt(name, inside, "field_invalid") ?? [];
    steps += segments.length;
    return { read: walker(segments), template: templateAt(definition[name] as JsonValue, inside) };
  });
  const units = STEP_UNITS * steps;
  return (evaluation) => {
    spend(evaluation.budget, units);
    const element = evaluation.bindings[slot];
    let all = isObject(element);
    for (const { read, template } of fields) {
      const wanted = template.view(evaluation);
      if (wanted === undefined) return undefined;
      if (!all) continue;
      all = equalValues(read(element, evaluation) ?? null, wanted, evaluation.budget);
    }
    return all;
  };
}
