/**
 * The promise of the storage port: one trace of 20,000 operations, equal results on both
 * engines. Replies, chain tips and folded states are byte-identical on the embedded and the
 * distributed engine. Runs where a cluster exists or can be started. `DIFFERENTIAL_SEED`
 * repeats a run.
 */

import assert from "node:assert/strict";
import { foundationdbCluster } from "../support/foundationdb_cluster.ts";
import { storeOf } from "./opened_store.ts";
import { describeRun, runDifferential } from "./run.ts";
import { sqliteStore } from "./sqlite_store.ts";

const operations = Number(Deno.env.get("DIFFERENTIAL_OPERATIONS") ?? 20_000);
const cluster = foundationdbCluster();
if (cluster.missing !== undefined) {
  console.log(`SKIPPED: the differential run on FoundationDB: ${cluster.missing}`);
}

Deno.test({
  name: "a trace leaves and answers the same on SQLite and on FoundationDB",
  ignore: cluster.missing !== undefined,
  async fn() {
    const seed = Number(Deno.env.get("DIFFERENTIAL_SEED") ?? Math.floor(Math.random() * 2 ** 31));
    console.log(`differential seed ${seed}: repeat with DIFFERENTIAL_SEED=${seed}`);
    const report = await runDifferential({ operations, seed }, [
      { name: "sqlite", store: await sqliteStore() },
      { name: "foundationdb", store: storeOf(await cluster.open()) },
    ]);
    console.log(describeRun(report));
    assert.deepEqual(report.gaps, [], `seed ${seed}`);
  },
});
