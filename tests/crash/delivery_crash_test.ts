/** At-least-once delivery, tested with `kill -9` on the real server while it delivers events. */

import assert from "node:assert/strict";
import { assertNoFaults } from "./crash_driver.ts";
import { describeDeliveries, runDeliveryCrashes } from "./delivery_crashes.ts";

Deno.test("a server killed again and again delivers each event, under one id, in order", async () => {
  const seed = Number(Deno.env.get("CRASH_SEED") ?? Math.floor(Math.random() * 2 ** 31));
  const rounds = Number(Deno.env.get("CRASH_ROUNDS") ?? 10);
  console.log(
    `crash seed ${seed}: repeat with ` +
      `deno task crash -- --workload listeners --seed ${seed} --rounds ${rounds}`,
  );
  const report = await runDeliveryCrashes({ seed, rounds });
  console.log(describeDeliveries(report));
  assertNoFaults(report);
  assert.ok(report.kills >= rounds);
  assert.ok(report.deliveries > rounds, "the load was too small to prove anything");
});
