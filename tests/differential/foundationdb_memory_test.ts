/**
 * The FoundationDB engine over a client in memory replies and stores as the embedded one does.
 * This runs wherever tests run; `foundationdb_test.ts` uses a real cluster.
 */

import assert from "node:assert/strict";
import { FoundationdbEngine } from "../../src/kv/foundationdb/engine.ts";
import { fakeHost } from "../support/fake_host.ts";
import { memoryDatabase } from "../support/memory_foundationdb.ts";
import { describeRun, runDifferential } from "./run.ts";
import { sqliteStore } from "./sqlite_store.ts";

const operations = Number(Deno.env.get("DIFFERENTIAL_OPERATIONS") ?? 2_000);

Deno.test("a trace leaves and answers the same on SQLite and on the FoundationDB engine in memory", async () => {
  const seed = Number(Deno.env.get("DIFFERENTIAL_SEED") ?? Math.floor(Math.random() * 2 ** 31));
  console.log(
    `differential seed ${seed}: repeat with DIFFERENTIAL_SEED=${seed} ` +
      `DIFFERENTIAL_OPERATIONS=${operations}`,
  );
  const database = memoryDatabase();
  const host = fakeHost();
  const report = await runDifferential({ operations, seed }, [
    { name: "sqlite", store: await sqliteStore() },
    {
      name: "foundationdb in memory",
      store: {
        open: () => Promise.resolve(new FoundationdbEngine({ database, host })),
        dispose: () => Promise.resolve(),
      },
    },
  ]);
  console.log(describeRun(report));
  assert.deepEqual(report.gaps, [], `seed ${seed}`);
});
