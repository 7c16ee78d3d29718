/** Exactly-once reactions, tested with `kill -9` on the real server while events are implied. */

import assert from "node:assert/strict";
import { assertNoFaults } from "./crash_driver.ts";
import { describeReactions, runReactionCrashes } from "./reaction_crashes.ts";

Deno.test("a server killed again and again does all that events set off, each once", async () => {
  const seed = Number(Deno.env.get("CRASH_SEED") ?? Math.floor(Math.random() * 2 ** 31));
  const rounds = Number(Deno.env.get("CRASH_ROUNDS") ?? 14);
  console.log(
    `crash seed ${seed}: repeat with ` +
      `deno task crash -- --workload reactions --seed ${seed} --rounds ${rounds}`,
  );
  const report = await runReactionCrashes({ seed, rounds });
  console.log(describeReactions(report));
  assertNoFaults(report);
  assert.ok(report.kills >= rounds);
});
