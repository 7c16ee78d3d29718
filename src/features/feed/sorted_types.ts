/** The aggregate types of a spec in the order of their names, for pages of them. */

import type { CompiledSpec } from "../../domain/spec/compiled.ts";
import { lowerBound, textAfter } from "../../kv/byte_text.ts";

type Types = CompiledSpec["aggregateTypes"];

/** Kept with the types: there may be thousands, and each page would sort them again. */
const sortedOf = new WeakMap<Types, readonly string[]>();

/** At most `count` names of types, from the first one behind `start`. */
export function typesBehind(types: Types, start: string | undefined, count: number): string[] {
  let sorted = sortedOf.get(types);
  if (sorted === undefined) sortedOf.set(types, sorted = [...types.keys()].sort());
  const at = start === undefined ? 0 : lowerBound(sorted, textAfter(start));
  return sorted.slice(at, at + count);
}
