/** The FoundationDB engine joins the contract, where a cluster exists or can be started. */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { foundationdbCluster } from "../support/foundationdb_cluster.ts";
import { backupContract } from "./backup_contract.ts";
import { engineContract, engineContractExpectingWrites } from "./engine_contract.ts";

const cluster = foundationdbCluster();
if (cluster.missing === undefined) {
  engineContract("foundationdb", cluster.open);
  engineContractExpectingWrites("foundationdb", cluster.open);
  backupContract("foundationdb", cluster.openForBackups);

  // Otherwise it would use what the end of the process has freed, and crash now and then.
  Deno.test("foundationdb: the client's thread ends before its process does", async () => {
    const child = new URL("../support/end_foundationdb_client.ts", import.meta.url);
    const { code, stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", fileURLToPath(child), cluster.clusterFile()],
    }).output();
    const { open, closed, ended } = JSON.parse(new TextDecoder().decode(stdout));
    assert.equal(closed, open, "another store may be opened");
    assert.ok(ended < closed, `${ended} of ${closed} threads`);
    assert.equal(code, 0);
  });
} else {
  console.log(`SKIPPED: the contract on FoundationDB: ${cluster.missing}`);
  Deno.test({ name: `foundationdb: skipped, ${cluster.missing}`, ignore: true, fn() {} });
}
