/**
 * The crash driver on a real cluster: a node killed under load loses nothing and halves
 * nothing.
 */

import assert from "node:assert/strict";
import { runCrashes } from "../crash/crash_driver.ts";
import { describeReactions, runReactionCrashes } from "../crash/reaction_crashes.ts";
import {
  type ClusterProcess,
  missingForCluster,
  startCluster,
} from "../support/cluster_process.ts";
import { takenByAnotherFile } from "../support/foundationdb_cluster.ts";
import { nodeSettings } from "./node.ts";

const missing = missingForCluster(true);
const replay = "deno task crash -- --store foundationdb";
if (missing !== undefined) console.log(`SKIPPED: node crashes on FoundationDB: ${missing}`);

Deno.test({
  name: "a node on FoundationDB killed under load, again and again, keeps what it acknowledged",
  ignore: missing !== undefined,
  async fn() {
    const seed = chosenSeed();
    const rounds = chosenRounds(12);
    console.log(`crash seed ${seed}: repeat with ${replay} --seed ${seed} --rounds ${rounds}`);
    await withCluster(async (cluster) => {
      const report = await runCrashes({ seed, rounds, env: nodeSettings(cluster) });
      const { kills, acknowledged, cutOff, cutOffLanded, events, seconds } = report;
      console.log(
        `${kills} kills in ${seconds.toFixed(0)} s: ${acknowledged} writes acknowledged, ` +
          `${cutOff} cut off (${cutOffLanded} of them had landed), ${events} events`,
      );
      assert.deepEqual(report.faults, [], `seed ${seed}`);
      assert.equal(kills, rounds);
      assert.ok(acknowledged > rounds, "the load was too small to prove anything");
    });
  },
});

Deno.test({
  name: "a node on FoundationDB killed again and again does all that events set off, each once",
  // The test itself opens the store between two lives, so it needs the client.
  ignore: (missing ?? takenByAnotherFile()) !== undefined,
  async fn() {
    const seed = chosenSeed();
    const rounds = chosenRounds(8);
    console.log(
      `crash seed ${seed}: repeat with ` +
        `${replay} --workload reactions --seed ${seed} --rounds ${rounds}`,
    );
    await withCluster(async (cluster) => {
      const { clusterFile } = cluster;
      const env = nodeSettings(cluster);
      const report = await runReactionCrashes({ seed, rounds, env, clusterFile });
      console.log(describeReactions(report));
      assert.deepEqual(report.faults, [], `seed ${seed}`);
      assert.equal(report.kills, rounds);
    });
  },
});

function chosenSeed(): number {
  return Number(Deno.env.get("CRASH_SEED") ?? Math.floor(Math.random() * 2 ** 31));
}

function chosenRounds(ordinary: number): number {
  return Number(Deno.env.get("CRASH_ROUNDS") ?? ordinary);
}

async function withCluster(body: (cluster: ClusterProcess) => Promise<void>): Promise<void> {
  const cluster = await startCluster();
  try {
    await body(cluster);
  } finally {
    await cluster.stop();
  }
}
