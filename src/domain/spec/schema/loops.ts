/**
 * Finds schemas that would check the same value forever, or so deep that the stack overflows.
 *
 * An example is `a` referring to `b` and `b` to `a`. Recursion that descends into the data (a
 * tree of nodes) is not a loop.
 */

import { isJsonObject } from "../../json.ts";
import type { FaultList } from "../fault_list.ts";
import type { Steps } from "../../fairness/pieces.ts";
import type { References } from "./references.ts";
import { KEYWORDS, subschemasOf } from "./vocabulary.ts";

/** Maximum number of schemas that may look at one value, each inside or after the previous one. */
const CHAIN_MAX = 100;

/** Reports the first loop, or the first chain that is too long. */
export function* checkLoops(
  references: References,
  pathOf: (pointer: string) => string,
  faults: FaultList,
): Steps<void> {
  const heights = new Map<string, number>();
  for (const pointer of references.places.keys()) {
    yield;
    const height = heightOf(pointer, references, heights, 0);
    if (height <= CHAIN_MAX) continue;
    const isLoop = height === Infinity;
    faults.add(
      isLoop ? "schema_endless" : "schema_too_deep",
      pathOf(pointer),
      isLoop
        ? "The schema refers back to itself for the same value, so checking it would never end."
        : `More than ${CHAIN_MAX} schemas in a row look at the same value.`,
      isLoop
        ? "Refer back from within properties or items only."
        : "Refer to the last of them directly.",
    );
    return;
  }
}

/** The longest chain of schemas from here that look at the same value; Infinity for a loop. */
function heightOf(
  pointer: string,
  references: References,
  heights: Map<string, number>,
  depth: number,
): number {
  const known = heights.get(pointer);
  if (known !== undefined) return known;
  // Too deep is final in any case; this ends the walk before the stack overflows.
  if (depth > CHAIN_MAX) return CHAIN_MAX + 1;
  // Marks the pointer as being on the current path: meeting it again is a loop.
  heights.set(pointer, Infinity);
  let height = 0;
  for (const next of sameValue(pointer, references)) {
    height = Math.max(height, heightOf(next, references, heights, depth + 1));
  }
  heights.set(pointer, height + 1);
  return height + 1;
}

/** The schemas that look at the same value as this one. */
function sameValue(pointer: string, references: References): string[] {
  const schema = references.places.get(pointer)?.schema;
  if (!isJsonObject(schema)) return [];
  const next = references.targetsAt(pointer);
  for (const child of subschemasOf(schema)) {
    if (KEYWORDS.get(child.keyword)?.inPlace) next.push(pointer + child.pointer);
  }
  return next;
}
