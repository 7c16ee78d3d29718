/** Durability and atomicity, tested with `kill -9` on the real server under load. */

import assert from "node:assert/strict";
import { ANCHOR_ALL_THE_TIME, checkEvidence } from "./check_evidence.ts";
import { assertNoFaults, runCrashes } from "./crash_driver.ts";

Deno.test("a server killed under load, again and again, keeps what it acknowledged", async () => {
  const seed = Number(Deno.env.get("CRASH_SEED") ?? Math.floor(Math.random() * 2 ** 31));
  const rounds = Number(Deno.env.get("CRASH_ROUNDS") ?? 28);
  console.log(
    `crash seed ${seed}: repeat with deno task crash -- --seed ${seed} --rounds ${rounds}`,
  );
  const env = ANCHOR_ALL_THE_TIME;
  const report = await runCrashes({ seed, rounds, env, whileDown: checkEvidence });
  const { kills, acknowledged, cutOff, cutOffLanded, events, seconds } = report;
  console.log(
    `${kills} kills in ${seconds.toFixed(0)} s: ${acknowledged} writes acknowledged, ` +
      `${cutOff} cut off (${cutOffLanded} of them had landed), ${events} events`,
  );
  assertNoFaults(report);
  assert.equal(kills, rounds);
  assert.ok(acknowledged > rounds, "the load was too small to prove anything");
});
