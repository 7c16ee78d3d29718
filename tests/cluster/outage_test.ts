/**
 * Several nodes and the cluster in outages under load. No acknowledged event is lost or
 * duplicated, every answer is a documented one that comes within five seconds, and no restart
 * is needed afterwards.
 */

import assert from "node:assert/strict";
import { missingForCluster, startCluster } from "../support/cluster_process.ts";
import { runOutages } from "./outage_driver.ts";

const missing = missingForCluster(true);
if (missing !== undefined) console.log(`SKIPPED: outages of nodes and cluster: ${missing}`);

Deno.test({
  name: "two nodes under load lose and double nothing while nodes and cluster fail",
  ignore: missing !== undefined,
  async fn() {
    const seed = Number(Deno.env.get("OUTAGE_SEED") ?? Math.floor(Math.random() * 2 ** 31));
    const rounds = Number(Deno.env.get("OUTAGE_ROUNDS") ?? 6);
    console.log(
      `outage seed ${seed}: repeat with deno task outages -- --seed ${seed} --rounds ${rounds}`,
    );
    const cluster = await startCluster();
    try {
      const log = (line: string) => console.log(line);
      const report = await runOutages(cluster, { seed, rounds, clusterDownMs: 6_000, log });
      const { faults, ...figures } = report;
      console.log(JSON.stringify(figures));
      assert.deepEqual(faults, [], `seed ${seed}`);
      assert.ok(report.acknowledged > 100 * rounds, "the load was too small to prove anything");
      assert.ok(report.unavailable > 0, "no client met an outage");
    } finally {
      await cluster.stop();
    }
  },
});
