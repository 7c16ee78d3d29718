/** The reader of SQLite's WAL, with logs that SQLite itself has written. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { createRedoLog, redoPathsOf } from "../../src/kv/sqlite/redo_log.ts";
import { endOfLastCommit, endOfLastRecord, isLonger, tearLog, TEARS } from "./write_ahead_log.ts";

async function withLog(body: (path: string, database: DatabaseSync) => Promise<void>) {
  const folder = await Deno.makeTempDir({ prefix: "daybook_log_" });
  const database = new DatabaseSync(`${folder}/store`);
  try {
    database.exec("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; CREATE TABLE t (x)");
    await body(`${folder}/store`, database);
  } finally {
    database.close();
    await Deno.remove(folder, { recursive: true });
  }
}

/** How many rows SQLite finds in a copy of the store with this log. */
async function countRows(path: string, log: Uint8Array): Promise<number> {
  const copy = `${path}.copy`;
  await Deno.copyFile(path, copy);
  await Deno.writeFile(`${copy}-wal`, log);
  const database = new DatabaseSync(copy);
  try {
    return Number(database.prepare("SELECT count(*) AS n FROM t").get()!.n);
  } finally {
    database.close();
  }
}

Deno.test("endOfLastCommit() is where each commit has just ended, and nothing behind it counts", () =>
  withLog(async (path, database) => {
    for (let rows = 1; rows <= 5; rows++) {
      database.exec(`INSERT INTO t VALUES (zeroblob(${rows * 3_000}))`);
      const log = await Deno.readFile(`${path}-wal`);
      const end = endOfLastCommit(log);
      assert.equal(end, log.length);
      assert.equal(await countRows(path, log.slice(0, end)), rows);
      assert.equal(await countRows(path, log.slice(0, end - 1)), rows - 1);
      assert.ok(endOfLastCommit(log.slice(0, end - 1)) < end);
    }
    assert.equal(endOfLastCommit(new Uint8Array()), 0);
  }));

Deno.test("endOfLastCommit() leaves out what an older log has left behind the newer one", () =>
  withLog(async (path, database) => {
    for (let row = 0; row < 5; row++) database.exec("INSERT INTO t VALUES (zeroblob(9000))");
    const older = await Deno.readFile(`${path}-wal`);
    database.exec("PRAGMA wal_checkpoint(RESTART); INSERT INTO t VALUES (1)");
    const newer = await Deno.readFile(`${path}-wal`);
    assert.equal(newer.length, older.length);
    const end = endOfLastCommit(newer);
    assert.ok(end < older.length / 2);
    assert.equal(await countRows(path, newer.slice(0, end)), 6);
  }));

for (const tear of TEARS) {
  Deno.test(`a log torn by '${tear}' is the same up to the tear, and SQLite reads as much of it`, () =>
    withLog(async (path, database) => {
      database.exec("INSERT INTO t VALUES (1)");
      const before = await Deno.readFile(`${path}-wal`);
      database.exec("INSERT INTO t VALUES (2)");
      const log = await Deno.readFile(`${path}-wal`);
      const torn = tearLog(log, {
        from: before.length + 100,
        tear,
        old: before,
        randomByte: () => 0xa5,
      });
      assert.deepEqual(torn.slice(0, before.length), before);
      assert.equal(await countRows(path, torn), 1);
    }));
}

Deno.test("endOfLastRecord() is where each record of the redo log has just ended, whatever lies behind it", async () => {
  const folder = await Deno.makeTempDir({ prefix: "daybook_log_" });
  const head = 28;
  const log = createRedoLog(`${folder}/store`, crypto.getRandomValues(new Uint8Array(16)));
  const [path] = redoPathsOf(`${folder}/store`);
  try {
    assert.equal(endOfLastRecord(await Deno.readFile(path)), head);
    for (let version = 1; version <= 5; version++) {
      log.append({ version, cleared: [], pairs: [new Uint8Array(10), new Uint8Array(500)] });
      const whole = await Deno.readFile(path);
      assert.equal(endOfLastRecord(whole), head + log.bytes);
      assert.ok(endOfLastRecord(whole.slice(0, -1)) < head + log.bytes);
    }
    log.restart();
    log.append({ version: 6, cleared: [], pairs: [] });
    assert.equal(endOfLastRecord(await Deno.readFile(path)), head + log.bytes);
  } finally {
    log.close();
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("isLonger() tells a log that went on from one that began anew", () => {
  const older = Uint8Array.of(1, 2, 3, 9, 9);
  assert.ok(isLonger(Uint8Array.of(1, 2, 3, 4, 5, 6), older, 3));
  assert.ok(!isLonger(Uint8Array.of(1, 7, 3, 4, 5, 6), older, 3));
  assert.ok(!isLonger(Uint8Array.of(1, 2), older, 3));
});
