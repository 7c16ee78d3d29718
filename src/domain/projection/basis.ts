/**
 * The basis of a projection: the parts of a spec that, beside its document, determine its rows.
 *
 * These are the way its types fold and the ids that are singletons. When the basis changes, the
 * rows are computed anew.
 */

import { hash } from "node:crypto";
import { assert } from "../assert.ts";
import { canonicalHash } from "../canonical_hash.ts";
import type { Steps } from "../fairness/pieces.ts";
import type { Texts } from "../lookup/text_map.ts";
import type { CompiledSpec } from "../spec/compiled.ts";
import type { CompiledProjection } from "./definition.ts";

/** Raise this when the meaning of lookups changes, so that rows with a lookup are computed anew. */
const LOOKUPS_VERSION = 2;
/** The most singletons that a basis lists one by one; of more, it has one hash. */
const SINGLETONS_LISTED_MAX = 1_000;

/** The singletons of a spec are hashed once, however many projections it has. */
const hashes = new WeakMap<Texts, string>();

export function* basisSteps(
  { document, types }: CompiledProjection,
  spec: CompiledSpec,
): Steps<string> {
  const folds = Object.fromEntries(
    // Bounded: the types that one projection shows.
    [...types].map((name) => {
      const type = spec.aggregateTypes.get(name);
      assert(type !== undefined, "a projection that compiles reads types of the spec");
      return [name, type.foldHash];
    }),
  );
  const singletons = spec.singletons.size <= SINGLETONS_LISTED_MAX
    ? [...spec.singletons].sort()
    : yield* hashOfAll(spec.singletons);
  const hasLookup = JSON.stringify(document.select).includes('"$lookup"');
  return canonicalHash({ folds, singletons, ...(hasLookup && { lookups: LOOKUPS_VERSION }) });
}

/** The sum of the hashes of all names: it is the same in any order, so nothing is sorted. */
function* hashOfAll(names: Texts): Steps<string> {
  const known = hashes.get(names);
  if (known !== undefined) return known;
  let sum = 0n;
  // Bounded: the singletons of one spec, one in each step.
  for (const name of names) {
    yield;
    sum = BigInt.asUintN(256, sum + BigInt(`0x${hash("sha256", name, "hex")}`));
  }
  const made = sum.toString(16);
  hashes.set(names, made);
  return made;
}
