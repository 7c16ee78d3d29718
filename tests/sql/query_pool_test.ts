/**
 * Every request to the SQL pool gets an answer, whatever happens to its processes. They end by
 * themselves, hang, spin or cannot be started.
 */

import assert from "node:assert/strict";
import { openQueryPool, type QueryPool } from "../../src/sql/query_pool.ts";
import { type RunnerCommand } from "../../src/runners/runner_process.ts";

const TIMEOUT_MS = 200;
const QUERY = { path: "1.db", tables: [], sql: "SELECT 1", bound: { byPlace: [], byName: {} } };

function mute(what: string): RunnerCommand {
  const program = new URL("../support/wasm/mute_runner.ts", import.meta.url).href;
  return { path: Deno.execPath(), args: ["run", "--no-prompt", "--no-config", program, what] };
}

async function withPool(
  command: RunnerCommand | undefined,
  test: (pool: QueryPool, folder: string, faults: unknown[]) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  const faults: unknown[] = [];
  const onFault = (error: unknown) => faults.push(error);
  const pool = openQueryPool({ runners: 2, folder, command, timeoutMs: TIMEOUT_MS, onFault });
  try {
    await test(pool, folder, faults);
  } finally {
    await pool.close();
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("a statement whose process ends is tried once more, and then refused", async () => {
  await withPool(mute("exit"), async (pool) => {
    const outcome = await pool.run("tenant", QUERY);
    assert.equal(outcome.kind, "refused");
    assert.match(JSON.stringify(outcome), /ended twice/);
  });
});

for (const what of ["hang", "spin"]) {
  Deno.test(`a process that does not answer (${what}) is killed, and the statement timed out`, async () => {
    await withPool(mute(what), async (pool) => {
      const outcome = await pool.run("tenant", QUERY);
      assert.equal(outcome.kind, "timeout");
      assert.match(JSON.stringify(outcome), /did not end within 200 ms and was stopped/);
      const again = await pool.run("tenant", QUERY);
      assert.equal(again.kind, "timeout");
    });
  });
}

Deno.test("where no process can be started the statement is told so, and the fault", async () => {
  await withPool({ path: "/nowhere/deno", args: [] }, async (pool, _folder, faults) => {
    const outcome = await pool.run("tenant", QUERY);
    assert.deepEqual(outcome, { kind: "unavailable", reason: "Queries cannot run now" });
    assert.equal(faults.length, 1);
  });
});

Deno.test("what waits or runs when the pool is closed is answered", async () => {
  await withPool(mute("hang"), async (pool) => {
    const asked = Array.from({ length: 5 }, (_, n) => pool.run(`tenant ${n}`, QUERY));
    await pool.close();
    for (const outcome of await Promise.all(asked)) {
      assert.deepEqual(outcome, { kind: "unavailable", reason: "The server is shutting down" });
    }
    assert.equal((await pool.run("tenant", QUERY)).kind, "unavailable");
  });
});

Deno.test("a file that is not there makes the copy unfit, and not the statement", async () => {
  await withPool(undefined, async (pool, folder) => {
    const outcome = await pool.run("tenant", { ...QUERY, path: `${folder}/1.db` });
    assert.ok(outcome.kind === "copy_unfit" && !outcome.isDamaged, JSON.stringify(outcome));
  });
});

Deno.test("the process may not read outside of the folder of the copies", async () => {
  await withPool(undefined, async (pool) => {
    const file = await Deno.makeTempFile();
    try {
      const outcome = await pool.run("tenant", { ...QUERY, path: file });
      assert.ok(outcome.kind === "copy_unfit", JSON.stringify(outcome));
      assert.match(outcome.reason, /Requires read access/);
    } finally {
      await Deno.remove(file);
    }
  });
});
