/**
 * `unevaluatedItems` where the validator would not do what the draft says: beside `contains`, and,
 * in a branch that may or may not apply, with `items`, `prefixItems` or a reference to a schema
 * that refers back to itself. Refused at deploy, so that no event is judged wrongly.
 */

import { isJsonObject } from "../../json.ts";
import type { FaultList } from "../fault_list.ts";
import { sameValue } from "./loops.ts";
import type { References } from "./references.ts";
import { subschemasOf } from "./vocabulary.ts";

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
    if (isConditional && targetsOf(pointer, references).some((at) => isRecursive(at, references))) {
      return "a recursive schema in a branch";
    }
    for (const child of sameValue(pointer, references)) {
      pending.push([child, isConditional || CONDITIONAL.test(child)]);
    }
  }
  return undefined;
}

function targetsOf(pointer: string, references: References): string[] {
  const schema = references.places.get(pointer)?.schema;
  if (!isJsonObject(schema)) return [];
  return [schema.$ref, schema.$dynamicRef].filter((reference) => typeof reference === "string")
    .map((reference) => references.resolve(reference, pointer)!);
}

/** Whether a schema leads back to itself, be it by way of the data that it looks into. */
function isRecursive(start: string, references: References): boolean {
  const pending = [start];
  const seen = new Set<string>();
  for (let pointer = pending.pop(); pointer !== undefined; pointer = pending.pop()) {
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
