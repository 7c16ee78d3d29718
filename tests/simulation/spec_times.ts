/** Which spec was current when. */

import { compileSpec } from "../../src/domain/spec/compile.ts";
import { decodeRecord } from "../../src/store/json_record.ts";
import { keys } from "../../src/store/keys.ts";
import { TENANT } from "./clients.ts";
import type { EndedWorld } from "./world.ts";
import { type SpecNumber, worldSpec } from "./world_spec.ts";

const NUMBERS: readonly SpecNumber[] = [1, 2, 3];
const numbersByHash = new Map(NUMBERS.map((number) => [hashOf(number), number]));

function hashOf(number: SpecNumber): string {
  const result = compileSpec(worldSpec(number));
  if (!result.ok) throw new Error(`spec ${number}: ${JSON.stringify(result)}`);
  return result.spec.hash;
}

/** Those that a client's write of this version may have been checked against, by any node. */
export function possibleSpecs({ journal }: EndedWorld, version: number): SpecNumber[] {
  return NUMBERS.filter((number) =>
    journal.deploys.some(({ spec, fromVersion }) => spec === number && fromVersion < version)
  );
}

/** The one that was current before this version: what a saga's transition is held to. */
export function currentSpec({ store }: EndedWorld, version: number): SpecNumber {
  // Every deploy writes the header of its spec, and none does so twice.
  const headers = store.keysWithin(keys.specs(TENANT.number)).map((key) => store.history(key)[0]!);
  const current = headers.findLast((header) => header.version < version)!;
  const { spec_hash } = decodeRecord<{ readonly spec_hash: string }>(current.value!);
  return numbersByHash.get(spec_hash)!;
}
