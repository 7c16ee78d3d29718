/**
 * `unevaluatedItems` where the validator would not do what the draft says: beside `contains`, and
 * with `items` or `prefixItems` in a branch that may or may not apply. Refused at deploy, so that
 * no event is judged wrongly.
 */

import { isJsonObject } from "../../json.ts";
import type { FaultList } from "../fault_list.ts";
import { sameValue } from "./loops.ts";
import type { References } from "./references.ts";

const CONDITIONAL = /\/(?:anyOf|oneOf|if|then|else|dependentSchemas)(?:\/[^/]*)?$/;

/** Reports each `unevaluatedItems` that cannot be relied on. The schema must have no loops. */
export function checkUnevaluatedItems(
  references: References,
  pathOf: (pointer: string) => string,
  faults: FaultList,
): void {
  for (const [pointer, { schema }] of references.places) {
    if (!isJsonObject(schema) || schema.unevaluatedItems === undefined) continue;
    const keyword = findUnreliable(pointer, references);
    if (keyword === undefined) continue;
    faults.add(
      "not_available",
      `${pathOf(pointer)}.unevaluatedItems`,
      `This version of the service does not run unevaluatedItems together with ${keyword} yet.`,
      "Describe the items with prefixItems and items, or leave unevaluatedItems out.",
    );
  }
}

function findUnreliable(start: string, references: References): string | undefined {
  const pending: [string, boolean][] = [[start, false]];
  const seen = new Set<string>();
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [pointer, isConditional] = next;
    if (seen.has(`${isConditional} ${pointer}`)) continue;
    seen.add(`${isConditional} ${pointer}`);
    const schema = references.places.get(pointer)?.schema;
    if (!isJsonObject(schema)) continue;
    if (schema.contains !== undefined) return "contains";
    if (isConditional && (schema.items ?? schema.prefixItems) !== undefined) {
      return "items or prefixItems in a branch";
    }
    for (const child of sameValue(pointer, references)) {
      pending.push([child, isConditional || CONDITIONAL.test(child)]);
    }
  }
  return undefined;
}
