/** Which spec was current at which version. */

import type { CompiledSpec } from "../../src/domain/spec/compiled.ts";
import { compileSpec } from "../../src/domain/spec/compile.ts";
import { decodeRecord } from "../../src/store/json_record.ts";
import { keys } from "../../src/store/keys.ts";
import { TENANT } from "./founding.ts";
import type { Journal } from "./journal.ts";
import type { SimulatedStore } from "./simulated_store.ts";
import { type SpecNumber, worldSpec } from "./world_spec.ts";

const NUMBERS: readonly SpecNumber[] = [1, 2, 3];
const known = new Map(
  [false, true].flatMap((hasListeners) =>
    NUMBERS.map((number) => {
      const compiled = compile(number, hasListeners);
      return [compiled.hash, { number, compiled }] as const;
    })
  ),
);

function compile(number: SpecNumber, hasListeners: boolean): CompiledSpec {
  const result = compileSpec(worldSpec(number, hasListeners));
  if (!result.ok) throw new Error(`spec ${number}: ${JSON.stringify(result)}`);
  return result.spec;
}

/** The specs that any node may have checked a client's write of this version against. */
export function possibleSpecs(
  { journal }: { readonly journal: Journal },
  version: number,
): SpecNumber[] {
  return NUMBERS.filter((number) =>
    journal.deploys.some(({ spec, fromVersion }) => spec === number && fromVersion < version)
  );
}

/** The spec that was current before this version; a saga's transition must follow it. */
export function currentSpec(
  { store }: { readonly store: SimulatedStore },
  version: number,
): SpecNumber {
  return specBefore(store, version).number;
}

/** The current spec. */
export function compiledNow(store: SimulatedStore): CompiledSpec {
  return specBefore(store, Infinity).compiled;
}

function specBefore(store: SimulatedStore, version: number) {
  // Every deploy writes the header of its spec, and writes it only once.
  const headers = store.keysWithin(keys.specs(TENANT.number)).map((key) => store.history(key)[0]!);
  const current = headers.findLast((header) => header.version < version)!;
  const { spec_hash } = decodeRecord<{ readonly spec_hash: string }>(current.value!);
  return known.get(spec_hash)!;
}
