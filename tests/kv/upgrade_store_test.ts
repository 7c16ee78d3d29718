/** Stores of earlier formats, opened by the engine: what they hold, and what is refused. */

import assert from "node:assert/strict";
import { openSqliteEngine } from "../../src/kv/sqlite.ts";

const KILLED = new URL("../golden/stores/format_4_killed/", import.meta.url);
const EVERYTHING = { begin: new Uint8Array(), end: Uint8Array.of(0xfe) };

async function withKilled(body: (folder: string, path: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_upgrade_" });
  try {
    for await (const { name } of Deno.readDir(KILLED)) {
      const packed = await Deno.open(new URL(name, KILLED));
      const unpacked = packed.readable.pipeThrough(new DecompressionStream("gzip"));
      await Deno.writeFile(`${folder}/${name.replace(/\.gz$/, "")}`, unpacked);
    }
    await body(folder, `${folder}/daybook.sqlite`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function countPairs(path: string): Promise<number> {
  const engine = openSqliteEngine({ path });
  try {
    return (await engine.snapshot((tx) => tx.getRange(EVERYTHING))).length;
  } finally {
    await engine.close();
  }
}

Deno.test("what a build before left in a redo log without a name goes into the store, once", async () => {
  await withKilled(async (_folder, path) => {
    const whole = await countPairs(path);
    assert.equal(await countPairs(path), whole);
    await withKilled(async (_other, without) => {
      Deno.truncateSync(`${without}-redo1`, 0);
      assert.ok(await countPairs(without) < whole, "the log held something");
    });
  });
});

Deno.test("a redo log without its store is refused, and nothing changes", async () => {
  await withKilled(async (_folder, path) => {
    Deno.removeSync(`${path}-wal`);
    const before = Deno.readFileSync(`${path}-redo1`);
    for (let attempt = 0; attempt < 2; attempt++) {
      await assert.rejects(countPairs(path), /There is no store in .* belongs to one/);
      assert.deepEqual(Deno.readFileSync(`${path}-redo1`), before);
    }
  });
});
