/** `enum`, `const` and `uniqueItems`: comparing values by their content, charged to a budget. */

import { type Budget, spend } from "../../budget.ts";
import { canonicalJson } from "../../canonical_json.ts";
import type { JsonValue } from "../../json.ts";

/** Units for one character of a value encoded for comparison, and for one short value. */
const UNITS_PER_CHARACTER = 24;
const UNITS_PER_VALUE = 16;

/** The lists of `enum` and `const`. Generated code refers to each list by its number. */
export function createAllowedValues(budget: Budget) {
  const lists: { scalars: Set<JsonValue>; composites: Set<string> }[] = [];
  return {
    add: (values: readonly JsonValue[]): number => {
      const composites = values.filter((value) => !isScalar(value)).map(canonicalJson);
      lists.push({ scalars: new Set(values.filter(isScalar)), composites: new Set(composites) });
      return lists.length - 1;
    },
    has: (value: JsonValue, list: number): boolean => {
      const { scalars, composites } = lists[list]!;
      if (isScalar(value)) return scalars.has(charged(value, budget));
      return composites.size > 0 && composites.has(canonicalText(value, budget));
    },
  };
}

export function hasUniqueItems(items: readonly JsonValue[], budget: Budget): boolean {
  spend(budget, UNITS_PER_VALUE * items.length);
  const scalars = new Set<JsonValue>();
  const composites = new Set<string>();
  let compositeCount = 0;
  for (const item of items) {
    if (isScalar(item)) scalars.add(charged(item, budget));
    else {
      compositeCount++;
      composites.add(canonicalText(item, budget));
    }
  }
  return scalars.size + composites.size === items.length &&
    composites.size === compositeCount;
}

function isScalar(value: JsonValue): boolean {
  return typeof value !== "object" || value === null;
}

/** Looking up a string in a set reads all of it. */
function charged(value: JsonValue, budget: Budget): JsonValue {
  if (typeof value === "string") spend(budget, value.length);
  return value;
}

function canonicalText(value: JsonValue, budget: Budget): string {
  const text = canonicalJson(value);
  spend(budget, UNITS_PER_CHARACTER * text.length);
  return text;
}
