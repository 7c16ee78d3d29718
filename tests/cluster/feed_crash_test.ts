/** Readers of the feed who go from one node to another, while nodes are killed again and again. */

import { runFeedCrashes } from "../crash/feed_crashes.ts";
import { missingForCluster, startCluster } from "../support/cluster_process.ts";
import { nodeSettings } from "./node.ts";

const rounds = Number(Deno.env.get("FEED_ROUNDS") ?? 6);
const seed = Number(Deno.env.get("FEED_SEED") ?? Date.now() % 1_000_000);
const missing = missingForCluster(true);
if (missing !== undefined) console.log(`SKIPPED: the feed of nodes on FoundationDB: ${missing}`);

Deno.test({
  name: "readers who change between nodes that are killed get each event of the feed in order",
  ignore: missing !== undefined,
  async fn() {
    console.log(`repeat with FEED_SEED=${seed}`);
    const cluster = await startCluster();
    try {
      await runFeedCrashes({ seed, rounds, nodes: 2, env: nodeSettings(cluster) });
    } finally {
      await cluster.stop();
    }
  },
});
