/**
 * Nothing leaves the SQLite engine before it is on the disk, even if the disk stalls or fails.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { StatementSync } from "node:sqlite";
import { Worker } from "node:worker_threads";
import type { Bytes, Engine, ReadTransaction, Transaction } from "../../../src/kv/engine.ts";
import { openSqliteEngine } from "../../../src/kv/sqlite/engine.ts";

interface Disk {
  readonly engine: Engine;
  /** The folder of the store's files. */
  readonly directory: string;
  /** Requested syncs that are not answered yet, oldest first. */
  readonly syncs: PromiseWithResolvers<void>[];
  /** From now on the disk confirms everything at once. */
  release(): void;
}

const key = new TextEncoder().encode("k");

function bytes(text: string): Bytes {
  return new TextEncoder().encode(text);
}

function write(engine: Engine, text: string): Promise<void> {
  return engine.transact((tx) => Promise.resolve(tx.set(key, bytes(text))));
}

function read(engine: Engine): Promise<string> {
  return engine.snapshot(async (tx) => new TextDecoder().decode(await tx.get(key)));
}

interface HeldDiskOptions {
  readonly nowMs?: () => number;
  /** The store starts with the current content of this folder's files. */
  readonly copyOf?: string;
}

/** An engine whose syncs end only when the test says so. */
async function withHeldDisk(
  body: (disk: Disk) => Promise<void>,
  { nowMs, copyOf }: HeldDiskOptions = {},
): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "daybook_held_" });
  for (const { name } of copyOf === undefined ? [] : Deno.readDirSync(copyOf)) {
    Deno.copyFileSync(join(copyOf!, name), join(directory, name));
  }
  const syncs: PromiseWithResolvers<void>[] = [];
  let isHeld = true;
  function syncLog(): Promise<void> {
    if (!isHeld) return Promise.resolve();
    const sync = Promise.withResolvers<void>();
    syncs.push(sync);
    return sync.promise;
  }
  function release(): void {
    isHeld = false;
    for (const sync of syncs) sync.resolve();
  }
  const engine = openSqliteEngine({ path: join(directory, "store.sqlite"), syncLog, nowMs });
  try {
    await body({ engine, directory, syncs, release });
  } finally {
    release();
    await engine.close();
    await Deno.remove(directory, { recursive: true });
  }
}

/** Whether a promise is settled after everything that could run has run. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  promise.then(() => settled = true, () => settled = true);
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setTimeout(resolve, 1));
  return settled;
}

Deno.test("a write is acknowledged after its sync and not before", async () => {
  await withHeldDisk(async ({ engine, syncs }) => {
    const written = write(engine, "a");
    assert.equal(await isSettled(written), false);
    assert.equal(syncs.length, 1);
    syncs[0]!.resolve();
    await written;
  });
});

Deno.test("a read that saw a commit still being synced answers after that sync", async () => {
  await withHeldDisk(async ({ engine, syncs }) => {
    const first = write(engine, "a");
    await isSettled(first);
    syncs[0]!.resolve();
    await first;
    const second = write(engine, "b");
    await isSettled(second);
    const seen = read(engine);
    const seenInTransaction = engine.transact(async (tx) =>
      new TextDecoder().decode(await tx.get(key))
    );
    assert.equal(await isSettled(seen), false);
    assert.equal(await isSettled(seenInTransaction), false);
    syncs[1]!.resolve();
    assert.equal(await seen, "b");
    assert.equal(await seenInTransaction, "b");
    await second;
  });
});

/** What a read beside the unsynced commit of the key `k` gives; undefined while it waits. */
async function readBeside(
  read: (tx: ReadTransaction) => Promise<unknown>,
  change: (tx: Transaction) => void = (tx) => tx.set(key, bytes("b")),
): Promise<unknown> {
  let told: unknown;
  await withHeldDisk(async ({ engine, syncs }) => {
    const first = engine.transact((tx) => {
      for (const name of ["a", "k", "z"]) tx.set(bytes(name), bytes("a"));
      return Promise.resolve();
    });
    await isSettled(first);
    syncs[0]!.resolve();
    await first;
    const second = engine.transact((tx) => Promise.resolve(change(tx)));
    await isSettled(second);
    const reading = engine.snapshot(async (tx) => [await read(tx)]);
    const transacting = engine.transact(async (tx) => [await read(tx)]);
    const waits = !await isSettled(reading);
    assert.equal(
      !await isSettled(transacting),
      waits,
      "a transaction that only reads does as well",
    );
    if (!waits) [told] = await reading;
    syncs[1]!.resolve();
    await Promise.all([second, reading, transacting]);
  });
  return told;
}

function range(begin: string, end: string) {
  return { begin: bytes(begin), end: bytes(end) };
}

/** A body that reads the keys of a range. */
function keysIn(begin: string, end: string) {
  return async (tx: ReadTransaction) =>
    (await tx.getRange(range(begin, end))).map(({ key }) => new TextDecoder().decode(key));
}

Deno.test("a read of what an unsynced commit has not changed is answered at once", async () => {
  assert.deepEqual(await readBeside((tx) => tx.get(bytes("a"))), bytes("a"));
  assert.deepEqual(await readBeside(keysIn("a", "k")), ["a"]);
  assert.deepEqual(await readBeside(keysIn("l", "zz")), ["z"]);
});

Deno.test("a read of what an unsynced commit has changed, or of its version, waits for its sync", async () => {
  const clear = (tx: Transaction) => tx.clear(key);
  const clearRange = (tx: Transaction) => tx.clearRange(range("j", "l"));
  const add = (tx: Transaction) => tx.add(key, 1n);
  for (const change of [undefined, clear, clearRange, add]) {
    assert.equal(await readBeside((tx) => tx.get(key), change), undefined);
    assert.equal(await readBeside(keysIn("a", "zz"), change), undefined);
  }
  assert.equal(await readBeside((tx) => tx.readVersion()), undefined);
  const both = async (tx: ReadTransaction) => [await tx.get(key), await tx.get(bytes("a"))];
  assert.equal(await readBeside(both), undefined, "once seen, it stays seen");
});

Deno.test("a read that may be of an unsynced commit waits for nothing, and what it leads to for both", async () => {
  await withHeldDisk(async ({ engine, syncs }) => {
    const first = write(engine, "a");
    await isSettled(first);
    const seen = await engine.snapshot((tx) => tx.get(key), { isUnsynced: true });
    assert.deepEqual(seen, bytes("a"));
    const second = write(engine, "b");
    assert.equal(await isSettled(second), false);
    syncs[0]!.resolve();
    await first;
    assert.equal(await isSettled(second), false);
    syncs[1]!.resolve();
    await second;
  });
});

Deno.test("a read of a durable version waits for nothing", async () => {
  await withHeldDisk(async ({ engine, syncs }) => {
    const first = write(engine, "a");
    await isSettled(first);
    syncs[0]!.resolve();
    await first;
    assert.equal(await read(engine), "a");
    assert.equal(syncs.length, 1);
  });
});

Deno.test("durableVersion() is the same while nothing is written, and none while that is not on the disk", async () => {
  await withHeldDisk(async ({ engine, syncs, release }) => {
    const before = engine.durableVersion();
    assert.equal(typeof before, "number");
    await engine.snapshot((tx) => tx.get(key));
    await engine.transact((tx) => tx.get(key));
    assert.equal(engine.durableVersion(), before);
    const written = write(engine, "a");
    assert.equal(engine.durableVersion(), before, "nobody reads it yet");
    await isSettled(written);
    assert.equal(engine.durableVersion(), undefined);
    syncs[0]!.resolve();
    await written;
    assert.equal(engine.durableVersion(), before! + 1);
    release();
    const closing = engine.close();
    assert.equal(
      engine.durableVersion(),
      undefined,
      "a closed engine is to be asked, and refuses",
    );
    await closing;
  });
});

Deno.test("durableVersion() is none after a sync that failed", async () => {
  await withHeldDisk(async ({ engine, syncs }) => {
    const written = write(engine, "a");
    await isSettled(written);
    syncs[0]!.reject(new Error("I/O error"));
    await assert.rejects(written, { name: "EngineUnavailable" });
    assert.equal(engine.durableVersion(), undefined);
  });
});

Deno.test("what arrives during a sync shares the next one", async () => {
  await withHeldDisk(async ({ engine, syncs }) => {
    const first = write(engine, "a");
    await isSettled(first);
    const others = Array.from(
      { length: 20 },
      (_, n) => engine.transact((tx) => Promise.resolve(tx.set(bytes(`k${n}`), key))),
    );
    await isSettled(others[0]!);
    assert.equal(syncs.length, 1, "one sync at a time");
    syncs[0]!.resolve();
    await first;
    assert.equal(await isSettled(others[0]!), false);
    assert.equal(syncs.length, 2);
    syncs[1]!.resolve();
    await Promise.all(others);
  });
});

Deno.test("a watch tells of a commit after its sync", async () => {
  await withHeldDisk(async ({ engine, syncs }) => {
    const watch = engine.watch(key);
    const written = write(engine, "a");
    assert.equal(await isSettled(watch.changed), false);
    syncs[0]!.resolve();
    assert.equal(await watch.changed, true);
    await written;
  });
});

Deno.test("a sync that fails acknowledges nothing, and the engine refuses all that follows", async () => {
  await withHeldDisk(async ({ engine, syncs }) => {
    const written = write(engine, "a");
    await isSettled(written);
    const seen = read(engine);
    const waiting = write(engine, "b");
    await isSettled(waiting);
    syncs[0]!.reject(new Error("I/O error"));
    for (const promise of [written, seen, waiting]) {
      await assert.rejects(promise, { name: "EngineUnavailable", message: /restart/ });
    }
    await assert.rejects(read(engine), { name: "EngineUnavailable" });
    await assert.rejects(write(engine, "c"), { name: "EngineUnavailable" });
  });
});

Deno.test("close() waits for the sync that is under way", async () => {
  await withHeldDisk(async ({ engine, syncs, release }) => {
    const written = write(engine, "a");
    await isSettled(written);
    const closed = engine.close();
    assert.equal(await isSettled(closed), false);
    assert.equal(syncs.length, 1);
    release();
    await Promise.all([closed, written]);
  });
});

Deno.test("what is still running when a sync fails is not written any more", async () => {
  await withHeldDisk(async ({ engine, syncs }) => {
    const bodyMayEnd = Promise.withResolvers<void>();
    const late = engine.transact(async (tx) => {
      await bodyMayEnd.promise;
      tx.set(bytes("late"), key);
    });
    const written = write(engine, "a");
    await isSettled(written);
    syncs[0]!.reject(new Error("I/O error"));
    await assert.rejects(written, { name: "EngineUnavailable" });
    bodyMayEnd.resolve();
    await assert.rejects(late, { name: "EngineUnavailable" });
    assert.equal(syncs.length, 1, "no further commit, so no further sync");
  });
});

Deno.test("a commit whose sync fails after more than five seconds is not tried again", async () => {
  let nowMs = 0;
  await withHeldDisk(async ({ engine, syncs }) => {
    let runs = 0;
    const written = engine.transact(async (tx) => {
      runs++;
      await tx.get(key);
      tx.set(key, bytes("a"));
    });
    await isSettled(written);
    nowMs = 6_000;
    syncs[0]!.reject(new Error("I/O error"));
    await assert.rejects(written, { name: "EngineUnavailable" });
    assert.equal(runs, 1);
  }, { nowMs: () => nowMs });
});

Deno.test("what a killed process left in the log is told to nobody before it is on the disk", async () => {
  await withHeldDisk(async (killed) => {
    await isSettled(write(killed.engine, "a"));
    await withHeldDisk(async ({ engine, syncs }) => {
      const seen = read(engine);
      assert.equal(await isSettled(seen), false);
      syncs[0]!.resolve();
      assert.equal(await seen, "a");
      const written = write(engine, "b");
      await isSettled(written);
      syncs[1]!.resolve();
      await written;
      assert.equal(syncs.length, 2);
    }, { copyOf: killed.directory });
    await withHeldDisk(async ({ engine, syncs }) => {
      const seen = read(engine);
      await isSettled(seen);
      syncs[0]!.reject(new Error("I/O error"));
      await assert.rejects(seen, { name: "EngineUnavailable", message: /restart/ });
    }, { copyOf: killed.directory });
  });
});

Deno.test("a store that was closed is read from at once", async () => {
  await withHeldDisk(async ({ engine, directory, release }) => {
    const written = write(engine, "a");
    release();
    await written;
    await engine.close();
    await withHeldDisk(async (again) => {
      assert.equal(await read(again.engine), "a");
      assert.deepEqual(again.syncs, []);
    }, { copyOf: directory });
  });
});

Deno.test("forget() ends with a refusal where the disk does not confirm the log that is to be emptied", async () => {
  await withHeldDisk(async ({ engine, syncs }) => {
    const written = write(engine, "a");
    await isSettled(written);
    syncs[0]!.resolve();
    await written;
    const forgotten = engine.forget();
    forgotten.catch(() => {});
    while (syncs.length < 2) await isSettled(forgotten);
    syncs[1]!.reject(new Error("I/O error"));
    await assert.rejects(forgotten, { name: "EngineUnavailable" });
    await assert.rejects(read(engine), { name: "EngineUnavailable", message: /restart/ });
  });
});

Deno.test("forget() breaks the store where the disk does not confirm that the redo log is empty", async () => {
  const file = Deno.FsFile.prototype;
  const { truncateSync } = file;
  await withHeldDisk(async ({ engine, release }) => {
    release();
    await write(engine, "a");
    file.truncateSync = () => {
      throw new Error("I/O error");
    };
    try {
      await assert.rejects(engine.forget(), { name: "EngineUnavailable" });
    } finally {
      file.truncateSync = truncateSync;
    }
    await assert.rejects(read(engine), { name: "EngineUnavailable", message: /restart/ });
  });
});

function clearAll(engine: Engine): Promise<void> {
  const everything = { begin: bytes("a"), end: bytes("z") };
  return engine.transact((tx) => Promise.resolve(tx.clearRange(everything)));
}

/** Only SQLite's WAL can record a cleared range. */
Deno.test("a commit that only SQLite's log has is told after the sync of that, also by the next process", async () => {
  await withHeldDisk(async (killed) => {
    const first = write(killed.engine, "a");
    await isSettled(first);
    killed.syncs[0]!.resolve();
    await first;
    const cleared = clearAll(killed.engine);
    assert.equal(await isSettled(cleared), false);
    assert.equal(killed.syncs.length, 2);
    await withHeldDisk(async ({ engine, syncs }) => {
      const seen = engine.snapshot((tx) => tx.get(key));
      assert.equal(await isSettled(seen), false);
      assert.equal(syncs.length, 1);
      syncs[0]!.resolve();
      assert.equal(await seen, undefined);
    }, { copyOf: killed.directory });
    killed.syncs[1]!.resolve();
    await cleared;
  });
});

Deno.test("a sync begins when what it is to confirm is in the file", async () => {
  const directory = await Deno.makeTempDir({ prefix: "daybook_written_" });
  const unwritten: string[] = [];
  let newest = "";
  const engine = openSqliteEngine({
    path: join(directory, "store.sqlite"),
    syncLog(log) {
      const { ino } = log.statSync();
      const paths = [...Deno.readDirSync(directory)].map(({ name }) => join(directory, name));
      const path = paths.find((one) => Deno.statSync(one).ino === ino)!;
      const isThere = new TextDecoder("latin1").decode(Deno.readFileSync(path)).includes(newest);
      if (!isThere) unwritten.push(newest);
      return Promise.resolve();
    },
  });
  for (let number = 0; number < 5; number++) {
    newest = `this is value ${number}`;
    await write(engine, newest);
  }
  newest = "";
  await engine.close();
  await Deno.remove(directory, { recursive: true });
  assert.deepEqual(unwritten, []);
});

/** Meanwhile the SQLite statements that `isFailing` selects fail, as on a full disk. */
async function withFailing<T>(
  isFailing: (sql: string) => boolean,
  body: () => T | Promise<T>,
): Promise<T> {
  const { run } = StatementSync.prototype;
  StatementSync.prototype.run = function (this: StatementSync, ...values: Parameters<typeof run>) {
    if (isFailing(this.sourceSQL)) throw new Error("database or disk is full");
    return run.apply(this, values);
  } as typeof run;
  try {
    return await body();
  } finally {
    StatementSync.prototype.run = run;
  }
}

Deno.test("on a full disk what a killed process left only in the redo log is told after the sync of that", async () => {
  await withHeldDisk(async (killed) => {
    await isSettled(write(killed.engine, "a"));
    await withFailing((sql) => sql === "COMMIT", async () => {
      await withHeldDisk(async ({ engine, syncs }) => {
        const seen = read(engine);
        assert.equal(await isSettled(seen), false);
        assert.equal(syncs.length, 2, "either file of the redo log may have it");
        for (const sync of [...syncs]) sync.resolve();
        await isSettled(seen);
        // The sync of SQLite's WAL: SQLite may have done what it reported as failed.
        syncs[2]!.resolve();
        assert.equal(await seen, "a");
      }, { copyOf: killed.directory });
    });
  });
});

Deno.test("where what was committed cannot be brought back after a failed commit, the store breaks", async () => {
  await withHeldDisk(async ({ engine, release }) => {
    release();
    await write(engine, "a");
    await withFailing(() => true, async () => {
      await assert.rejects(write(engine, "b"), { name: "EngineUnavailable" });
    });
    assert.match(engine.failure()!.message, /restart/);
    await assert.rejects(read(engine), { name: "EngineUnavailable", message: /restart/ });
  });
});

function namesIn(directory: string): string[] {
  return [...Deno.readDirSync(directory)].map(({ name }) => name)
    .filter((name) => !/-shm$|\.lock$/.test(name)).sort();
}

const ALL_FILES = ["", "-redo1", "-redo2", "-wal"].map((end) => `store.sqlite${end}`);

Deno.test("a close of a broken store leaves its logs, which the next start reads", async () => {
  await withHeldDisk(async ({ engine, directory, syncs, release }) => {
    const first = write(engine, "a");
    await isSettled(first);
    syncs[0]!.resolve();
    await first;
    const second = write(engine, "b");
    await isSettled(second);
    syncs[1]!.reject(new Error("I/O error"));
    await assert.rejects(second, { name: "EngineUnavailable" });
    release();
    await engine.close();
    assert.deepEqual(namesIn(directory), ALL_FILES);
    const again = openSqliteEngine({ path: join(directory, "store.sqlite") });
    assert.equal(await read(again), "b", "unconfirmed, but not lost");
    await again.close();
  });
});

Deno.test("a close during a pass that does not end leaves the logs, which the next start reads", async () => {
  const directory = await Deno.makeTempDir({ prefix: "daybook_pass_" });
  const path = join(directory, "store.sqlite");
  const { postMessage } = Worker.prototype;
  // The pass receives no message, and so never ends.
  Worker.prototype.postMessage = () => {};
  try {
    const engine = openSqliteEngine({ path, sizes: { startFrames: 1, passMsMax: 20 } });
    await write(engine, "a");
    await clearAll(engine);
    await write(engine, "b");
    await engine.close();
  } finally {
    Worker.prototype.postMessage = postMessage;
  }
  assert.deepEqual(namesIn(directory), ALL_FILES);
  const again = openSqliteEngine({ path });
  assert.equal(await read(again), "b");
  await again.close();
  await Deno.remove(directory, { recursive: true });
});

Deno.test("a commit that only the redo log has is told after its sync, though SQLite's log is empty", async () => {
  const killed = await Deno.makeTempDir({ prefix: "daybook_redone_" });
  const path = join(killed, "store.sqlite");
  const engine = openSqliteEngine({ path });
  await write(engine, "a");
  await engine.forget();
  await write(engine, "b");
  assert.equal(Deno.statSync(`${path}-wal`).size, 0);
  await withHeldDisk(async ({ engine, syncs }) => {
    const seen = read(engine);
    assert.equal(await isSettled(seen), false);
    assert.equal(syncs.length, 1);
    syncs[0]!.resolve();
    assert.equal(await seen, "b");
  }, { copyOf: killed });
  await engine.close();
  await Deno.remove(killed, { recursive: true });
});
