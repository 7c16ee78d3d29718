/**
 * What of a spec decides the rows of a projection, beside its document: how its types fold, and
 * which ids are singletons. Under another basis they are computed anew.
 */

import { assert } from "../assert.ts";
import { canonicalHash } from "../canonical_json.ts";
import type { CompiledSpec } from "../spec/compiled.ts";
import type { CompiledProjection } from "./definition.ts";

export function basisOf({ types }: CompiledProjection, spec: CompiledSpec): string {
  const folds = Object.fromEntries(
    // Bounded: the types that one projection shows.
    [...types].map((name) => {
      const type = spec.aggregateTypes.get(name);
      assert(type !== undefined, "a projection that compiles reads types of the spec");
      return [name, type.foldHash];
    }),
  );
  const singletons = [...spec.singletons].sort();
  return canonicalHash({ folds, singletons });
}
