/** Two nodes on the FoundationDB engine, where a cluster exists or can be started. */

import { foundationdbCluster } from "../support/foundationdb_cluster.ts";
import { nodesContract } from "./nodes_contract.ts";

const cluster = foundationdbCluster();
if (cluster.missing === undefined) {
  nodesContract("foundationdb", async () => {
    const { engine, dispose } = await cluster.open();
    return { engines: [engine, engine], dispose };
  });
} else {
  console.log(`SKIPPED: two nodes on FoundationDB: ${cluster.missing}`);
  Deno.test({
    name: `foundationdb, two nodes: skipped, ${cluster.missing}`,
    ignore: true,
    fn() {},
  });
}
