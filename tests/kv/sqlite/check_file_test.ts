/** Rows of the embedded store: no changed byte of its file may alter stored data unnoticed. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { inspect } from "node:util";
import { checkSqliteFile } from "../../../src/kv/sqlite/check_file.ts";
import { openSqliteEngine } from "../../../src/kv/sqlite/engine.ts";

/** Runs `body` with a closed file that holds `rows`; removes the folder afterwards. */
async function withClosedStore(
  rows: readonly (readonly [string, number])[],
  body: (path: string) => void | Promise<void>,
) {
  const folder = await Deno.makeTempDir({ prefix: "daybook_rows_" });
  try {
    const path = join(folder, "store.sqlite");
    const engine = openSqliteEngine({ path });
    const encoder = new TextEncoder();
    for (const [key, size] of rows) {
      const value = Uint8Array.from({ length: size }, (_, at) => (at * 7 + size) % 256);
      await engine.transact((tx) => Promise.resolve(tx.set(encoder.encode(key), value)));
    }
    await engine.close();
    await body(path);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/**
 * Everything that a reader of the store can see; undefined if it cannot be read. The format is
 * left out: a store of another format is not opened at all.
 */
function contentOf(path: string): string | undefined {
  try {
    const db = new DatabaseSync(path, { readOnly: true });
    try {
      const rows = db.prepare("SELECT k, v FROM kv ORDER BY k").all() as { k: Uint8Array }[];
      const get = db.prepare("SELECT v FROM kv WHERE k = ?");
      const version = db.prepare("SELECT id, version FROM store").all();
      return inspect([version, rows, rows.map(({ k }) => get.get(k))], {
        depth: 4,
        maxArrayLength: Infinity,
      });
    } finally {
      db.close();
    }
  } catch {
    return undefined;
  }
}

Deno.test("checkSqliteFile() finds nothing in a sound file, also after rows were replaced", async () => {
  const rows = Array.from({ length: 300 }, (_, at) => [`key ${at % 90}`, 3 * at] as const);
  await withClosedStore([...rows, ["empty", 0], ["large", 90_000]], (path) => {
    assert.deepEqual(checkSqliteFile(path), []);
  });
});

/** How many bytes of the file are flipped, one at a time. */
const FLIPS = 700;

Deno.test("checkSqliteFile() finds each flipped byte of a file that changes what is stored", async () => {
  const rows = Array.from({ length: 14 }, (_, at) => [`key ${at}`, 40 * at] as const);
  await withClosedStore([...rows, ["large", 5_000]], async (path) => {
    const sound = await Deno.readFile(path);
    const before = contentOf(path);
    let found = 0;
    // An odd step has no factor in common with a page size: it hits all kinds of places in all
    // pages.
    const step = Math.max(1, Math.floor(sound.length / FLIPS)) | 1;
    for (let at = 0; at < sound.length; at += step) {
      const flipped = Uint8Array.from(sound);
      flipped[at]! ^= 1 << (at % 8);
      await Deno.writeFile(path, flipped);
      if (checkSqliteFile(path).length > 0) found++;
      // Unused space may change; what is read must not.
      else assert.ok(contentOf(path) === before, `byte ${at} of ${sound.length} was not found`);
    }
    assert.ok(found > sound.length / step / 4, `${found} flips were found`);
  });
});

/** What `fsck` reports about a sound store after a change by SQL. */
async function faultsAfter(sql: string): Promise<string[]> {
  let faults: string[] = [];
  await withClosedStore([["a", 10], ["b", 20]], (path) => {
    const db = new DatabaseSync(path);
    db.exec(sql);
    db.close();
    faults = checkSqliteFile(path);
  });
  return faults;
}

Deno.test("checkSqliteFile() says that a row has no checksum, and which one", async () => {
  assert.deepEqual(await faultsAfter("UPDATE kv SET c = NULL WHERE rowid = 2"), [
    "row 2 is not what was written",
  ]);
});

Deno.test("checkSqliteFile() says that the version of the store is two numbers", async () => {
  assert.deepEqual(await faultsAfter("UPDATE store SET version = version - 1"), [
    "the version of the last commit is stored as two numbers",
  ]);
});
