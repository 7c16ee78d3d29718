/**
 * The short form of `deno task siege`: some of its attacks, for a second or two each. Each runs
 * on a real server beside a neighbour. The bars are wide because other tests run at the same
 * time: every attack here once held everybody up for seconds.
 */

import assert from "node:assert/strict";
import type { Attack } from "../../scripts/siege/attack.ts";
import { ATTACK_GROUPS } from "../../scripts/siege/attacks.ts";
import { type Bars, QUIET_BARS } from "../../scripts/siege/bars.ts";
import { type Neighbour, startNeighbour } from "../../scripts/siege/neighbour.ts";
import { runAttack } from "../../scripts/siege/run_attack.ts";
import { describeOutcome } from "../../scripts/siege/table.ts";

const WIDE_BARS: Bars = { ...QUIET_BARS, p99Ms: 1_500, worstMs: 2_000, loopDelayMs: Infinity };
const SECONDS = 1.5;

/** With kill, restart and stop. */
const WHOLE = ["format url: 2030 colons"];
const SHORT = [
  "login password of combining marks",
  "login body of empty objects",
  "login bodies that never end",
  "own tier lifted",
  "sql of 50000 parameters",
  "sql of open brackets",
  "openapi of a large spec",
  "format regex: 650 classes of Unicode",
];

let neighbour: Neighbour;
Deno.test.beforeAll(async () => {
  neighbour = await startNeighbour();
});
Deno.test.afterAll(() => neighbour.stop());

for (const attack of [...WHOLE, ...SHORT].map(find)) {
  Deno.test({
    name: `a neighbour does not suffer from: ${attack.name}`,
    // Attackers leave connections behind on purpose.
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      const isShort = !WHOLE.includes(attack.name);
      const short = { ...attack, seconds: isShort ? SECONDS : 3 * SECONDS };
      const options = { engine: "sqlite", seconds: SECONDS, bars: WIDE_BARS, isShort } as const;
      const outcome = await runAttack(short, neighbour, options);
      assert.deepEqual(outcome.faults, [], describeOutcome(outcome));
    },
  });
}

function find(name: string): Attack {
  const found = ATTACK_GROUPS.flatMap(({ attacks }) => attacks).find((each) => each.name === name);
  assert(found !== undefined, name);
  return found;
}
