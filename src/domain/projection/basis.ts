/**
 * The basis of a projection: the parts of a spec that, beside its document, determine its rows.
 *
 * These are the way its types fold and the ids that are singletons. When the basis changes, the
 * rows are computed anew.
 */

import { assert } from "../assert.ts";
import { canonicalHash } from "../canonical_hash.ts";
import type { CompiledSpec } from "../spec/compiled.ts";
import type { CompiledProjection } from "./definition.ts";

/** Raise this when the meaning of lookups changes, so that rows with a lookup are computed anew. */
const LOOKUPS_VERSION = 2;

export function basisOf({ document, types }: CompiledProjection, spec: CompiledSpec): string {
  const folds = Object.fromEntries(
    // Bounded: the types that one projection shows.
    [...types].map((name) => {
      const type = spec.aggregateTypes.get(name);
      assert(type !== undefined, "a projection that compiles reads types of the spec");
      return [name, type.foldHash];
    }),
  );
  const singletons = [...spec.singletons].sort();
  const hasLookup = JSON.stringify(document.select).includes('"$lookup"');
  return canonicalHash({ folds, singletons, ...(hasLookup && { lookups: LOOKUPS_VERSION }) });
}
