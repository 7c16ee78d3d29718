/** The distributed engine joins the contract, where a cluster is or can be started. */

import { foundationdbCluster } from "../support/foundationdb_cluster.ts";
import { engineContract } from "./engine_contract.ts";

const cluster = foundationdbCluster();
if (cluster.missing === undefined) engineContract("foundationdb", cluster.open);
else {
  console.log(`SKIPPED: the contract on FoundationDB: ${cluster.missing}`);
  Deno.test({ name: `foundationdb: skipped, ${cluster.missing}`, ignore: true, fn() {} });
}
