/** Sixty-four writers on two nodes sell exactly the stock, while the nodes are killed. */

import { runGuardCrashes } from "../crash/guard_crashes.ts";
import { missingForCluster, startCluster } from "../support/cluster_process.ts";
import { nodeSettings } from "./node.ts";

const rounds = Number(Deno.env.get("GUARD_ROUNDS") ?? 4);
const seed = Number(Deno.env.get("GUARD_SEED") ?? Date.now() % 1_000_000);
const missing = missingForCluster(true);
if (missing !== undefined) console.log(`SKIPPED: guards of nodes on FoundationDB: ${missing}`);

Deno.test({
  name: "sixty-four writers on two nodes sell exactly the stock while nodes are killed",
  ignore: missing !== undefined,
  async fn() {
    console.log(`repeat with GUARD_SEED=${seed}`);
    const cluster = await startCluster();
    try {
      await runGuardCrashes({ seed, rounds, nodes: 2, env: nodeSettings(cluster) });
    } finally {
      await cluster.stop();
    }
  },
});
