/** What the database file says of itself, and logs beside it of an earlier moment. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Engine } from "../../../src/kv/engine.ts";
import { openSqliteEngine } from "../../../src/kv/sqlite/engine.ts";
import { readMovedRow } from "../../../src/kv/sqlite/moved_row.ts";
import { FORMAT } from "../../../src/kv/sqlite/upgrade_store.ts";

const STORE = "store.sqlite";
const LOGS = ["-wal", "-redo1", "-redo2"];

async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_moved_" });
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function write(engine: Engine, text: string): Promise<void> {
  const bytes = new TextEncoder().encode(text);
  await engine.transact((tx) => Promise.resolve(tx.set(bytes, bytes)));
}

function filesOf(folder: string): Map<string, Uint8Array> {
  const names = [...Deno.readDirSync(folder)].map(({ name }) => name);
  return new Map(names.map((name) => [name, Deno.readFileSync(join(folder, name))]));
}

Deno.test("the version of the database is that of the last commit that was moved there", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, STORE);
    assert.equal(readMovedRow(path), undefined, "there is no store");
    const engine = openSqliteEngine({ path });
    await write(engine, "a");
    await engine.forget();
    await write(engine, "b");
    assert.deepEqual(readMovedRow(path), { format: FORMAT, version: 1 });
    await engine.close();
    assert.deepEqual(readMovedRow(path), { format: FORMAT, version: 2 });
  });
});

Deno.test("a row that is not whole has a format and no version", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, STORE);
    const engine = openSqliteEngine({ path });
    await write(engine, "a");
    await engine.close();
    const db = new DatabaseSync(path);
    db.exec("UPDATE store SET version_again = 7");
    db.close();
    assert.deepEqual(readMovedRow(path), { format: FORMAT, version: undefined });
  });
});

Deno.test("a file that is no database says nothing, and stays as it is", async () => {
  await withFolder(async (folder) => {
    for (const content of [new Uint8Array(), new Uint8Array(5000).fill(7)]) {
      const path = join(folder, STORE);
      Deno.writeFileSync(path, content);
      assert.equal(readMovedRow(path), undefined);
      assert.deepEqual(Deno.readFileSync(path), content);
      await Promise.resolve();
    }
  });
});

/** The files of a store that was closed, with the logs that it had as another moment left them. */
async function makeMixed(folder: string, isEarlier: boolean): Promise<void> {
  await withFolder(async (origin) => {
    const path = join(origin, STORE);
    const engine = openSqliteEngine({ path });
    await write(engine, "a");
    const early = LOGS.map((end) => Deno.readFileSync(path + end));
    await write(engine, "b");
    // A cleared range ends the SQLite transaction: all of it is then in SQLite's log.
    const range = { begin: new Uint8Array(), end: Uint8Array.of(1) };
    await engine.transact((tx) => Promise.resolve(tx.clearRange(range)));
    const late = LOGS.map((end) => Deno.readFileSync(path + end));
    await engine.close();
    Deno.copyFileSync(path, join(folder, STORE));
    for (const [index, end] of LOGS.entries()) {
      Deno.writeFileSync(join(folder, STORE + end), (isEarlier ? early : late)[index]!);
    }
  });
}

Deno.test("logs of an earlier moment than the database are refused, and nothing changes", async () => {
  await withFolder(async (folder) => {
    await makeMixed(folder, true);
    const before = filesOf(folder);
    for (let attempt = 0; attempt < 2; attempt++) {
      assert.throws(
        () => openSqliteEngine({ path: join(folder, STORE) }),
        /has commits up to 3, and SQLite's log beside it, .*-wal, takes it back to 0: they are not/,
      );
      const after = filesOf(folder);
      for (const [name, bytes] of before) assert.deepEqual(after.get(name), bytes, name);
    }
  });
});

Deno.test("logs that have everything that was moved are read", async () => {
  await withFolder(async (folder) => {
    await makeMixed(folder, false);
    const engine = openSqliteEngine({ path: join(folder, STORE) });
    const found = await engine.snapshot((tx) => tx.get(new TextEncoder().encode("b")));
    assert.deepEqual(found, new TextEncoder().encode("b"));
    await engine.close();
  });
});
