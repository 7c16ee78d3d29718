/** What is done leaves nothing behind that would be done again or would never go. */

import { unpack } from "../../src/kv/tuple.ts";
import { keys } from "../../src/store/keys.ts";
import { TENANT } from "./clients.ts";
import type { Evidence } from "./evidence.ts";

const { number } = TENANT;
/** A tenant's records by the second part of their keys. */
const KINDS = new Map([
  [unpack(keys.schedule(number, ""))[1], "a scheduled event"],
  [unpack(keys.cancelRule(number, "", "", ""))[1], "a rule that cancels"],
  [unpack(keys.sagaWait(number, "", "", 0, ""))[1], "a wait of a saga"],
]);
const CLOCK_DIFFERENCE_MS = 10_000;
const EXPECTED_ERRORS = ["poison", "away", "No reply to"];

export function checkRemains({ world, parked }: Evidence): string[] {
  const { store, isQuiet, weather, errors } = world;
  const faults: string[] = [];
  if (!isQuiet) faults.push("there is something to do, and nobody does it");
  // With clocks that are far apart there is no pause between two tries.
  const isRight = weather.clockJumps === 0 && weather.skewMsMax < CLOCK_DIFFERENCE_MS;
  if (
    parked.length > 0 && (weather.poison === "none" || (weather.poison === "passing" && isRight))
  ) {
    faults.push("something is parked");
  }
  for (const { key } of store.pairsWithin({ begin: new Uint8Array(), end: Uint8Array.of(0xfe) })) {
    const parts = unpack(key);
    const kind = parts[0] === number ? KINDS.get(parts[1]!) : PLATFORM.get(parts[1]!);
    if (kind !== undefined) faults.push(`${kind} is left: ${JSON.stringify(parts)}`);
  }
  for (const error of errors) {
    if (!EXPECTED_ERRORS.some((part) => error.includes(part))) faults.push(`logged: ${error}`);
  }
  return faults;
}

const PLATFORM = new Map<unknown, string>([
  ["outbox", "an entry of the outbox"],
  ["timer", "a timer"],
]);
