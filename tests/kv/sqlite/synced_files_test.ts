/**
 * What the embedded engine syncs, and in which order: its calls on files. What SQLite does on
 * its own is not included.
 */

import assert from "node:assert/strict";
import { basename, join } from "node:path";
import { type CheckpointHome, openCheckpoints } from "../../../src/kv/sqlite/checkpoints.ts";
import type { Bytes, Engine } from "../../../src/kv/engine.ts";
import { createRedoLog, redoPathsOf } from "../../../src/kv/sqlite/redo_log.ts";
import { openSqliteEngine } from "../../../src/kv/sqlite/engine.ts";
import { openSqliteFile } from "../../../src/kv/sqlite/file.ts";

const STORE = "store.sqlite";
const ID = Uint8Array.from({ length: 16 }, (_, index) => index);

function bytes(text: string): Bytes {
  return new TextEncoder().encode(text);
}

async function withFolder(body: (folder: string) => void | Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_synced_" });
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** What `body` did to the files of a folder: `sync store-wal`, `truncate store-redo1`, ... */
async function callsOf(
  folder: string,
  body: () => void | Promise<void>,
  hasRoom = true,
): Promise<string[]> {
  const calls: string[] = [];
  const file = Deno.FsFile.prototype;
  const { openSync } = Deno;
  const { syncSync, syncDataSync, truncateSync, writeSync } = file;
  const nameOf = (opened: Deno.FsFile) => {
    const { ino } = opened.statSync();
    const isSame = (path: string) => Deno.statSync(path).ino === ino;
    const names = [...Deno.readDirSync(folder)].map(({ name }) => name);
    return isSame(folder) ? "folder" : names.find((name) => isSame(join(folder, name))) ?? "?";
  };
  Deno.openSync = (path, options) => {
    if (options?.truncate === true) {
      if (!hasRoom) throw new Error("No space left on device");
      calls.push(`truncate ${basename(String(path))}`);
    }
    return openSync(path, options);
  };
  file.syncSync = function () {
    calls.push(`sync ${nameOf(this)}`);
    syncSync.call(this);
  };
  file.syncDataSync = function () {
    calls.push(`sync ${nameOf(this)}`);
    syncDataSync.call(this);
  };
  file.truncateSync = function (length) {
    calls.push(`truncate ${nameOf(this)}`);
    truncateSync.call(this, length);
  };
  file.writeSync = function (data) {
    calls.push(`write ${nameOf(this)}`);
    return writeSync.call(this, data);
  };
  try {
    await body();
  } finally {
    Deno.openSync = openSync;
    Object.assign(file, { syncSync, syncDataSync, truncateSync, writeSync });
  }
  return calls;
}

/** Fails unless a sync follows the last change of a file. */
function assertSynced(calls: readonly string[], name: string): void {
  const changed = calls.findLastIndex((call) =>
    /^(write|truncate) /.test(call) && call.endsWith(name)
  );
  assert.ok(changed >= 0, `${name} was changed: ${calls}`);
  assert.ok(calls.lastIndexOf(`sync ${name}`) > changed, `${name} was synced: ${calls}`);
}

Deno.test("a new redo log is on the disk with its heads and its names before anything is in it", async () => {
  await withFolder(async (folder) => {
    const calls = await callsOf(folder, () => createRedoLog(join(folder, "store"), ID).close());
    for (const path of redoPathsOf("store")) {
      assertSynced(calls, path);
      assert.ok(calls.lastIndexOf("sync folder") > calls.indexOf(`truncate ${path}`), "its name");
    }
  });
});

Deno.test("a record that was taken back is gone from the disk before the next one", async () => {
  await withFolder(async (folder) => {
    const log = createRedoLog(join(folder, "store"), ID);
    log.append({ version: 1, cleared: [], pairs: [bytes("k"), bytes("v")] });
    assertSynced(await callsOf(folder, log.takeBack), "store-redo1");
    log.close();
  });
});

Deno.test("a log that was emptied is empty on the disk", async () => {
  await withFolder(async (folder) => {
    const log = createRedoLog(join(folder, "store"), ID);
    log.append({ version: 1, cleared: [], pairs: [bytes("k"), bytes("erased by law")] });
    log.turn();
    const calls = await callsOf(folder, log.empty);
    for (const path of redoPathsOf("store")) assertSynced(calls, path);
    log.close();
  });
});

function write(engine: Engine, text: string): Promise<void> {
  return engine.transact((tx) => Promise.resolve(tx.set(bytes(text), bytes(text))));
}

/** The calls of a start on these files, which syncs SQLite's log before it makes a redo log. */
async function callsOfNextStart(killed: string): Promise<readonly string[]> {
  let calls: readonly string[] = [];
  await withFolder(async (folder) => {
    for (const { name } of Deno.readDirSync(killed)) {
      if (!name.endsWith("-shm")) Deno.copyFileSync(join(killed, name), join(folder, name));
    }
    let again: Engine | undefined;
    calls = await callsOf(folder, () => {
      again = openSqliteEngine({ path: join(folder, STORE) });
    });
    const first = calls.indexOf(`truncate ${STORE}-redo1`);
    assert.ok(first >= 0, `a new log was made: ${calls}`);
    assert.ok(calls.slice(0, first).includes(`sync ${STORE}-wal`), `${calls}`);
    await again!.close();
  });
  return calls;
}

Deno.test("after a kill the database and SQLite's log are synced, and name no redo log, before that is written over", async () => {
  await withFolder(async (killed) => {
    const engine = openSqliteEngine({ path: join(killed, STORE) });
    await write(engine, "a");
    const calls = await callsOfNextStart(killed);
    // The name of the new redo log follows it to the disk.
    assert.equal(calls.at(-1), `sync ${STORE}-wal`);
    // Another program may have kept what SQLite knew of moved pages: nobody else syncs them then.
    assert.equal(calls[0], `sync ${STORE}`);
    await engine.close();
  });
});

Deno.test("after a kill within a close SQLite's log is synced before the redo log, which it no longer names, is written over", async () => {
  await withFolder(async (killed) => {
    let isHeld = false;
    const syncLog = (log: Deno.FsFile) => isHeld ? new Promise<void>(() => {}) : log.syncData();
    const engine = openSqliteEngine({ path: join(killed, STORE), syncLog });
    await write(engine, "a");
    isHeld = true;
    const before = Deno.statSync(join(killed, `${STORE}-wal`)).size;
    engine.close();
    while (Deno.statSync(join(killed, `${STORE}-wal`)).size === before) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await callsOfNextStart(killed);
  });
});

Deno.test("the name of a new store is synced, also where there is no room for a redo log", async () => {
  await withFolder(async (folder) => {
    let engine: Engine | undefined;
    const open = () => void (engine = openSqliteEngine({ path: join(folder, STORE) }));
    assert.ok((await callsOf(folder, open, false)).includes("sync folder"));
    await write(engine!, "a");
    await engine!.close();
  });
});

/**
 * A checkpoint worker that records what it does in a file: at which `synchronous` level SQLite
 * moves pages, and that the database is synced.
 */
function tellingWorker(folder: string, isFailing: boolean): URL {
  const [told, store] = [join(folder, "told"), join(folder, STORE)].map((path) =>
    JSON.stringify(path)
  );
  const worker = JSON.stringify(
    new URL("../../../src/kv/sqlite/checkpoint_worker.ts", import.meta.url).href,
  );
  const changes = `
    import { DatabaseSync } from "node:sqlite";
    const tell = (line) => Deno.writeTextFileSync(${told}, line + "\\n", { append: true });
    const { syncData } = Deno.FsFile.prototype;
    Deno.FsFile.prototype.syncData = async function () {
      const isStore = this.statSync().ino === Deno.statSync(${store}).ino;
      if (isStore && ${isFailing}) throw new Error("I/O error");
      await syncData.call(this);
      if (isStore) tell("synced");
    };
    const { prepare } = DatabaseSync.prototype;
    DatabaseSync.prototype.prepare = function (sql) {
      const statement = prepare.call(this, sql);
      if (!sql.includes("wal_checkpoint")) return statement;
      const level = prepare.call(this, "PRAGMA synchronous");
      return { get: () => (tell("move " + level.get().synchronous), statement.get()) };
    };`;
  // Both modules load before the first message: a module that awaits an import would miss it.
  return moduleOf(`import "${moduleOf(changes)}"; import ${worker};`);
}

function moduleOf(text: string): URL {
  return new URL(`data:text/javascript,${encodeURIComponent(text)}`);
}

/** Two rounds of passes over the WAL, each to its end; returns what broke the store. */
async function moveTwice(folder: string, isFailing: boolean): Promise<unknown[]> {
  const file = openSqliteFile({
    path: join(folder, STORE),
    sizes: { startFrames: 1, passMsMax: 20_000 },
  });
  const broken: unknown[] = [];
  let ended = Promise.withResolvers<void>();
  const home: CheckpointHome = {
    giveUpOldVersions() {},
    flush: () => true,
    async untilFlushed() {
      await file.syncAll();
      return true;
    },
    onRelease: () => ended.resolve(),
    onBroken: (cause) => void broken.push(cause),
    onUnnoted() {},
  };
  const checkpoints = openCheckpoints(file, home, tellingWorker(folder, isFailing));
  for (const version of [1, 2]) {
    ended = Promise.withResolvers();
    const pairs = [bytes(`k${version}`), bytes("v")];
    file.commit(version, (change) => change.setAll(pairs), false);
    await file.sync();
    checkpoints.afterCommit();
    await ended.promise;
  }
  assert.equal(await checkpoints.close(), true);
  file.abandon();
  return broken;
}

Deno.test("every pass syncs the database, and only within a finish SQLite leaves the log's sync out", async () => {
  await withFolder(async (folder) => {
    assert.deepEqual(await moveTwice(folder, false), []);
    const told = Deno.readTextFileSync(join(folder, "told")).trim().split("\n");
    const moves = told.flatMap((line, index) => line.startsWith("move") ? [{ line, index }] : []);
    assert.equal(moves.length, 4, "two passes, each with its finish");
    for (const { index } of moves) assert.equal(told[index + 1], "synced", `${told}`);
    // From level 1 on, SQLite syncs its WAL before it moves the pages.
    for (const pass of [0, 2]) assert.notEqual(moves[pass]!.line, "move 0", `${told}`);
  });
});

Deno.test("a pass whose database the disk does not confirm breaks the store", async () => {
  await withFolder(async (folder) => {
    const broken = await moveTwice(folder, true);
    assert.match(String(broken[0]), /I\/O error/);
  });
});
