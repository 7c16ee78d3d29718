/** `enum`, `const` and `uniqueItems`: values compared by what they say, in time that is charged. */

import { type Budget, spend } from "../../budget.ts";
import { canonicalJson } from "../../canonical_json.ts";
import type { JsonValue } from "../../json.ts";

/** Of one character of a value that is written out to be compared, and of one short value. */
const UNITS_PER_CHARACTER = 24;
const UNITS_PER_VALUE = 16;

/** The lists of `enum` and `const`, each by a number that stands for it in generated code. */
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

/** A long text is read whole where its place in a set is looked for. */
function charged(value: JsonValue, budget: Budget): JsonValue {
  if (typeof value === "string") spend(budget, value.length);
  return value;
}

function canonicalText(value: JsonValue, budget: Budget): string {
  const text = canonicalJson(value);
  spend(budget, UNITS_PER_CHARACTER * text.length);
  return text;
}
