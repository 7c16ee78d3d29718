/** The crash driver on a real cluster: a node killed under load loses nothing, halves nothing. */

import assert from "node:assert/strict";
import { runCrashes } from "../crash/crash_driver.ts";
import { missingForCluster, startCluster } from "../support/cluster_process.ts";
import { nodeSettings } from "./node.ts";

const missing = missingForCluster(true);
if (missing !== undefined) console.log(`SKIPPED: node crashes on FoundationDB: ${missing}`);

Deno.test({
  name: "a node on FoundationDB killed under load, again and again, keeps what it acknowledged",
  ignore: missing !== undefined,
  async fn() {
    const seed = Number(Deno.env.get("CRASH_SEED") ?? Math.floor(Math.random() * 2 ** 31));
    const rounds = Number(Deno.env.get("CRASH_ROUNDS") ?? 12);
    console.log(
      `crash seed ${seed}: repeat with ` +
        `deno task crash -- --store foundationdb --seed ${seed} --rounds ${rounds}`,
    );
    const cluster = await startCluster();
    try {
      const report = await runCrashes({ seed, rounds, env: nodeSettings(cluster) });
      const { kills, acknowledged, cutOff, cutOffLanded, events, seconds } = report;
      console.log(
        `${kills} kills in ${seconds.toFixed(0)} s: ${acknowledged} writes acknowledged, ` +
          `${cutOff} cut off (${cutOffLanded} of them had landed), ${events} events`,
      );
      assert.deepEqual(report.faults, [], `seed ${seed}`);
      assert.equal(kills, rounds);
      assert.ok(acknowledged > rounds, "the load was too small to prove anything");
    } finally {
      await cluster.stop();
    }
  },
});
