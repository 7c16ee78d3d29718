/** Compares values that a client sized, in steps that the thread may be left between. */

import type { Steps } from "./fairness/pieces.ts";
import type { JsonObject, JsonValue } from "./json.ts";

/** So many values are compared in one step, in some tens of microseconds. */
const VALUES_PER_STEP = 256;

/** Two arrays of one length, or two objects with as many keys, of which some are compared. */
interface OpenPair {
  /** Undefined for arrays. */
  readonly names: readonly string[] | undefined;
  readonly left: JsonObject | readonly JsonValue[];
  readonly right: JsonObject | readonly JsonValue[];
  readonly count: number;
  at: number;
}

/**
 * Whether both have the same canonical text: the order of keys does not matter, that of elements
 * does. It ends at the first difference.
 */
export function* isSameJsonSteps(left: JsonValue, right: JsonValue): Steps<boolean> {
  // Bounded: as deep as the values, whose depth their reader has limited.
  const open: OpenPair[] = [];
  if (!enter(left, right, open)) return false;
  let values = 0;
  for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
    if (++values % VALUES_PER_STEP === 0) yield;
    const { names, at } = top;
    if (at === top.count) {
      open.pop();
      continue;
    }
    top.at++;
    const place = (names?.[at] ?? at) as never;
    if (names !== undefined && !Object.hasOwn(top.right, place)) return false;
    if (!enter(top.left[place], top.right[place], open)) return false;
  }
  return true;
}

/** False if the two differ in themselves. What they contain is still to be compared. */
function enter(left: JsonValue, right: JsonValue, open: OpenPair[]): boolean {
  if (left === right) return true;
  const areContainers = typeof left === "object" && typeof right === "object" &&
    left !== null && right !== null;
  if (!areContainers || Array.isArray(left) !== Array.isArray(right)) return false;
  const names = Array.isArray(left) ? undefined : Object.keys(left);
  const count = names?.length ?? (left as JsonValue[]).length;
  const others = Array.isArray(right) ? right.length : Object.keys(right).length;
  open.push({ names, left, right, count, at: 0 });
  return count === others;
}
