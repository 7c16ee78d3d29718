/** Checks that finished work leaves nothing behind that would run again or never go away. */

import type { Bytes } from "../../src/kv/engine.ts";
import { rangeOf, type TupleElement, unpack } from "../../src/kv/tuple.ts";
import { keys } from "../../src/store/keys.ts";
import { TENANT } from "./founding.ts";
import type { Evidence } from "./evidence.ts";

const { number } = TENANT;
/** The key prefix of each kind. */
const KINDS: readonly (readonly [prefix: readonly TupleElement[], name: string])[] = [
  [ownKind(keys.schedule(number, "")), "a scheduled event"],
  [ownKind(keys.cancelRule(number, "", "", "")), "a rule that cancels"],
  [ownKind(keys.sagaWait(number, "", "", 0, "")), "a wait of a saga"],
  [ownKind(keys.delivery(number, "", "", 0)), "a delivery"],
  [[0, "outbox"], "an entry of the outbox"],
  [[0, "timer"], "a timer"],
  [[0, "lane"], "a lane of deliveries"],
];
const CLOCK_DIFFERENCE_MS = 10_000;
/** Two makers who each believe the other has stopped give an anchor up until the next round. */
const TAKEN_OVER = "taken over again and again";
const EXPECTED_ERRORS = ["poison", "away", "No reply to", "Store unavailable"];

export function checkRemains({ world, parked }: Evidence): string[] {
  const { store, isQuiet, weather, errors } = world;
  const faults: string[] = [];
  if (!isQuiet) faults.push("there is something to do, and nobody does it");
  // If clocks are far apart, there is no pause between two tries.
  const isRight = weather.clockJumps === 0 && weather.skewMsMax < CLOCK_DIFFERENCE_MS;
  if (
    parked.length > 0 && (weather.poison === "none" || (weather.poison === "passing" && isRight))
  ) {
    faults.push("something is parked");
  }
  for (const [prefix, name] of KINDS) {
    for (const { key } of store.pairsWithin(rangeOf(prefix))) {
      faults.push(`${name} is left: ${JSON.stringify(unpack(key))}`);
    }
  }
  const expected = isRight ? EXPECTED_ERRORS : [...EXPECTED_ERRORS, TAKEN_OVER];
  for (const error of errors) {
    if (!expected.some((part) => error.includes(part))) faults.push(`logged: ${error}`);
  }
  return faults;
}

/** Tenant and kind. */
function ownKind(key: Bytes): TupleElement[] {
  return unpack(key).slice(0, 2);
}
