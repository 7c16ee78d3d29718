/**
 * Commits that are in the redo log but not yet in an ended SQLite transaction. They survive
 * kills, power cuts and failing commits, whichever file has them at that moment.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { type Bytes, type Engine, EngineUnavailable } from "../../../src/kv/engine.ts";
import { redoPathsOf } from "../../../src/kv/sqlite/redo_log.ts";
import { openSqliteEngine } from "../../../src/kv/sqlite/engine.ts";
import { openSqliteFile } from "../../../src/kv/sqlite/file.ts";

const STORE = "store.sqlite";
const EVERYTHING = { begin: new Uint8Array(), end: Uint8Array.of(0xfe) };
/** Far more than a record of the redo log may have. */
const LARGE_VALUES = 12;

type Content = ReadonlyMap<string, string>;

/** What one transaction does. */
type Work =
  | { readonly kind: "set"; readonly keys: readonly number[] }
  | { readonly kind: "clear"; readonly keys: readonly number[] }
  | { readonly kind: "clear_range"; readonly from: number; readonly to: number }
  | { readonly kind: "large" }
  /** Does not fit into the store. */
  | { readonly kind: "too_large" };

const keyNumber = fc.nat(30);
const works: fc.Arbitrary<Work> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("set" as const),
      keys: fc.array(keyNumber, { minLength: 1, maxLength: 6 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("clear" as const),
      keys: fc.array(keyNumber, { minLength: 1, maxLength: 3 }),
    }),
  },
  fc.record({ kind: fc.constant("clear_range" as const), from: keyNumber, to: keyNumber }),
  fc.constant({ kind: "large" as const }),
  fc.constant({ kind: "too_large" as const }),
);

function bytes(text: string): Bytes {
  return new TextEncoder().encode(text);
}

function key(number: number): string {
  return `k${number.toString().padStart(3, "0")}`;
}

async function contentOf(engine: Engine): Promise<Content> {
  const pairs = await engine.snapshot((tx) => tx.getRange(EVERYTHING));
  const text = (part: Bytes) => new TextDecoder().decode(part);
  return new Map(pairs.map(({ key, value }) => [text(key), text(value)]));
}

async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_writer_" });
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Opens a copy of the current files, as a kill would leave them. */
async function withCopy(
  folder: string,
  body: (engine: Engine, folder: string) => Promise<void>,
  change: (folder: string) => void = () => {},
): Promise<void> {
  await withFolder(async (copy) => {
    for (const { name, isFile } of Deno.readDirSync(folder)) {
      if (isFile && !name.endsWith("-shm")) Deno.copyFileSync(join(folder, name), join(copy, name));
    }
    change(copy);
    const engine = openSqliteEngine({ path: join(copy, STORE) });
    try {
      await body(engine, copy);
    } finally {
      await engine.close();
    }
  });
}

/** Does the work in the store, and in the model if it took effect. */
async function doWork(engine: Engine, model: Map<string, string>, work: Work, turn: number) {
  if (work.kind === "too_large") {
    const values = Array.from({ length: 40 }, (_, index) => `huge${index}`);
    const failing = engine.transact((tx) => {
      tx.set(bytes(key(0)), bytes("never"));
      for (const name of values) tx.set(bytes(name), new Uint8Array(90_000));
      return Promise.resolve();
    });
    await assert.rejects(failing, EngineUnavailable);
    return;
  }
  await engine.transact((tx) => {
    switch (work.kind) {
      case "set":
        for (const number of work.keys) tx.set(bytes(key(number)), bytes(`${turn}`));
        break;
      case "clear":
        for (const number of work.keys) tx.clear(bytes(key(number)));
        break;
      case "clear_range":
        tx.clearRange({ begin: bytes(key(work.from)), end: bytes(key(work.to)) });
        break;
      case "large":
        for (let index = 0; index < LARGE_VALUES; index++) {
          tx.set(bytes(`large${index}`), bytes(`${turn}`.padEnd(60_000, ".")));
        }
    }
    return Promise.resolve();
  });
  switch (work.kind) {
    case "set":
      for (const number of work.keys) model.set(key(number), `${turn}`);
      break;
    case "clear":
      for (const number of work.keys) model.delete(key(number));
      break;
    case "clear_range":
      for (let number = work.from; number < work.to; number++) model.delete(key(number));
      break;
    case "large":
      for (let index = 0; index < LARGE_VALUES; index++) {
        model.set(`large${index}`, `${turn}`.padEnd(60_000, "."));
      }
  }
}

function sorted(content: Content): [string, string][] {
  return [...content].sort(([a], [b]) => a < b ? -1 : 1);
}

Deno.test("whatever was committed and failed before, a kill after any commit leaves all that was committed", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(works, { maxLength: 12 }), fc.boolean(), async (all, isReading) => {
      await withFolder(async (folder) => {
        const engine = openSqliteEngine({ path: join(folder, STORE), pagesMax: 800 });
        const model = new Map<string, string>();
        for (const [turn, work] of all.entries()) {
          const before = sorted(model);
          let seen: Promise<Content> | undefined;
          const mayRead = Promise.withResolvers<void>();
          if (isReading) seen = readTwice(engine, mayRead.promise);
          await doWork(engine, model, work, turn);
          mayRead.resolve();
          if (seen !== undefined) assert.deepEqual(sorted(await seen), before, "an old version");
          assert.deepEqual(sorted(await contentOf(engine)), sorted(model));
          await withCopy(folder, async (killed) => {
            assert.deepEqual(sorted(await contentOf(killed)), sorted(model), `turn ${turn}`);
          });
        }
        await engine.close();
        const again = openSqliteEngine({ path: join(folder, STORE) });
        assert.deepEqual(sorted(await contentOf(again)), sorted(model));
        await again.close();
      });
    }),
    { numRuns: 25 },
  );
});

/** Reads at one version, before and after another commit. */
function readTwice(engine: Engine, mayRead: Promise<void>): Promise<Content> {
  return engine.snapshot(async (tx) => {
    await tx.get(bytes(key(0)));
    await mayRead;
    const pairs = await tx.getRange(EVERYTHING);
    const text = (part: Bytes) => new TextDecoder().decode(part);
    return new Map(pairs.map(({ key, value }) => [text(key), text(value)]));
  });
}

function write(engine: Engine, number: number, text = `${number}`): Promise<void> {
  return engine.transact((tx) => Promise.resolve(tx.set(bytes(key(number)), bytes(text))));
}

Deno.test("what SQLite's own log lost in a power cut, for nobody had synced it, the redo log has", async () => {
  await withFolder(async (folder) => {
    const syncs: string[] = [];
    const path = join(folder, STORE);
    const engine = openSqliteEngine({
      path,
      async syncLog(log) {
        const isSqlites = log.statSync().ino === Deno.statSync(`${path}-wal`).ino;
        await log.syncData();
        syncs.push(isSqlites ? "sqlite" : "redo");
      },
    });
    const synced = Deno.readFileSync(`${path}-wal`);
    for (let number = 0; number < 20; number++) {
      // A reader of an old version uses another connection, for which SQLite must commit.
      const mayRead = Promise.withResolvers<void>();
      const reading = readTwice(engine, mayRead.promise);
      await write(engine, number);
      mayRead.resolve();
      await reading;
    }
    assert.deepEqual(new Set(syncs), new Set(["redo"]));
    assert.ok(Deno.statSync(`${path}-wal`).size > synced.length, "SQLite committed");
    await withCopy(
      folder,
      async (killed) => assert.equal((await contentOf(killed)).size, 20),
      (copy) => Deno.writeFileSync(join(copy, `${STORE}-wal`), synced),
    );
    await engine.close();
  });
});

Deno.test("while SQLite's own log is not confirmed, no file of the redo log that has its commits is written over", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, STORE);
    let isHeld = false;
    const engine = openSqliteEngine({
      path,
      sizes: {
        pagesWanted: 4,
        windowBytesAtFirst: 2_000,
        windowBytesMin: 2_000,
        windowBytesMax: 4_000,
      },
      syncLog(log) {
        const isSqlites = log.statSync().ino === Deno.statSync(`${path}-wal`).ino;
        return isSqlites && isHeld ? new Promise(() => {}) : Promise.resolve();
      },
    });
    for (let number = 0; number < 5; number++) await write(engine, number);
    const synced = Deno.readFileSync(`${path}-wal`);
    isHeld = true;
    // Enough to fill each file many times, if its content did not have to be kept.
    const value = "v".repeat(200);
    const told: number[] = [];
    for (let number = 0; number < 30; number++) {
      await Promise.race([
        write(engine, number, `${number}${value}`).then(() => told.push(number)),
        new Promise((resolve) => setTimeout(resolve, 200)),
      ]);
      if (told.length <= number) break;
    }
    assert.ok(told.length > 12, "both files were written");
    await withCopy(
      folder,
      async (killed) => {
        const content = await contentOf(killed);
        for (const number of told) assert.equal(content.get(key(number)), `${number}${value}`);
      },
      (copy) => Deno.writeFileSync(join(copy, `${STORE}-wal`), synced),
    );
  });
});

Deno.test("a sync of SQLite's own log confirms nothing that was put there after it began", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, STORE);
    const [begun, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let isHeld = false;
    const syncLog = (log: Deno.FsFile) => {
      if (!isHeld) return log.syncData();
      begun.resolve();
      return held.promise;
    };
    const file = openSqliteFile({ path, syncLog });
    const commit = (version: number) => {
      const text = bytes(`${version}`);
      file.commit(version, (change) => change.setAll([text, text]), true);
    };
    commit(1);
    await file.sync();
    const fail = () => {
      throw new Error("no room");
    };
    assert.throws(() => file.commit(2, fail, true), /no room/);
    commit(2);
    isHeld = true;
    const synced = file.sync();
    const confirmed = Deno.readFileSync(`${path}-wal`);
    await begun.promise;
    // A pass of the checkpoints ends.
    file.flush();
    isHeld = false;
    held.resolve();
    await synced;
    commit(3);
    await file.sync();
    await withCopy(
      folder,
      async (killed) => assert.deepEqual([...(await contentOf(killed)).keys()], ["1", "2", "3"]),
      (copy) => Deno.writeFileSync(join(copy, `${STORE}-wal`), confirmed),
    );
    file.abandon();
  });
});

const FRAME_BYTES = 24 + 4096;

/** Opens the files of a kill with each frame of SQLite's log damaged in turn. */
async function damageEachFrame(folder: string, expected: Content): Promise<void> {
  const name = `${STORE}-wal`;
  const log = Deno.readFileSync(join(folder, name));
  for (let at = 32 + 100; at < log.length; at += FRAME_BYTES) {
    const damaged = log.with(at, log[at]! ^ 1);
    const opening = withCopy(
      folder,
      async (killed) => assert.deepEqual(await contentOf(killed), expected, `byte ${at}`),
      (copy) => Deno.writeFileSync(join(copy, name), damaged),
    );
    await opening.catch((error: Error) => assert.match(error.message, /Nothing was changed/));
  }
}

Deno.test("where SQLite's own log is damaged, a store that lacks a commit is refused", async () => {
  await withFolder(async (folder) => {
    const engine = openSqliteEngine({ path: join(folder, STORE) });
    for (let number = 0; number < 3; number++) await write(engine, number);
    await damageEachFrame(folder, await contentOf(engine));
    // The next start has all of it in SQLite's log alone, and a redo log without a record.
    await withCopy(folder, async (again, copy) => {
      await damageEachFrame(copy, await contentOf(again));
    });
    // Cleared ranges are in SQLite's log alone as well, the second one behind a whole commit.
    for (const [begin, end] of [[key(0), key(1)], [key(1), key(2)]] as const) {
      await engine.transact((tx) =>
        Promise.resolve(tx.clearRange({ begin: bytes(begin), end: bytes(end) }))
      );
      await damageEachFrame(folder, await contentOf(engine));
    }
    await engine.close();
  });
});

Deno.test("a record that a power cut has torn was acknowledged to nobody, and those before it are there", async () => {
  await withFolder(async (folder) => {
    const engine = openSqliteEngine({ path: join(folder, STORE) });
    const redo = join(folder, `${STORE}-redo1`);
    const ends: number[] = [];
    for (let number = 0; number < 3; number++) {
      await write(engine, number);
      ends.push(Deno.statSync(redo).size);
    }
    for (let end = ends[0]!; end <= ends[2]!; end++) {
      await withCopy(
        folder,
        async (killed, copy) => {
          const left = ends.filter((one) => one <= end).length;
          assert.equal((await contentOf(killed)).size, left);
          // A new record takes the place of the torn one.
          await write(killed, 7);
          await withCopy(copy, async (again) => {
            assert.deepEqual([...(await contentOf(again)).keys()].at(-1), key(7));
            assert.equal((await contentOf(again)).size, left + 1);
          });
        },
        (copy) => Deno.truncateSync(join(copy, `${STORE}-redo1`), end),
      );
    }
    await engine.close();
  });
});

Deno.test("the files of the redo log take turns, neither grows for ever, and a store that was closed has none", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, STORE);
    const engine = openSqliteEngine({ path });
    const value = "v".repeat(50_000);
    const largest = [0, 0];
    for (let round = 0; round < 600; round++) {
      await write(engine, round % 7, `${round}${value}`);
      redoPathsOf(path).forEach((one, index) => {
        largest[index] = Math.max(largest[index]!, Deno.statSync(one).size);
      });
      if (round % 100 !== 99) continue;
      await withCopy(folder, async (killed) => {
        assert.equal((await contentOf(killed)).get(key(round % 7)), `${round}${value}`);
      });
    }
    for (const size of largest) assert.ok(size > 1_000_000 && size < 17_000_000, `${size} bytes`);
    const sizes = (await engine.measure()).bytes as { log: number };
    assert.ok(sizes.log > largest[0]!, "all logs count");
    await engine.close();
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), [
      STORE,
      `${STORE}-pages`,
      `${STORE}.lock`,
    ]);
  });
});

Deno.test("a store of the format before has no redo log, and gets one", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, STORE);
    const before = openSqliteEngine({ path });
    await write(before, 1);
    await before.close();
    const db = new DatabaseSync(path);
    db.exec("ALTER TABLE store DROP COLUMN redo; UPDATE store SET format = 2");
    db.close();
    const engine = openSqliteEngine({ path });
    await write(engine, 2);
    assert.equal((await contentOf(engine)).size, 2);
    await withCopy(folder, async (killed) => assert.equal((await contentOf(killed)).size, 2));
    await engine.close();
  });
});

Deno.test("a store without its log of SQLite is refused where the redo log is newer", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, STORE);
    const first = openSqliteEngine({ path });
    await write(first, 1);
    await first.close();
    // As it was closed: it names no redo log, and everything newer is only in the two logs.
    const closed = Deno.readFileSync(path);
    const engine = openSqliteEngine({ path });
    await write(engine, 2);
    await withFolder(async (copy) => {
      for (const end of ["-redo1", "-redo2"]) {
        Deno.copyFileSync(path + end, join(copy, STORE + end));
      }
      Deno.writeFileSync(join(copy, STORE), closed);
      const open = () => openSqliteEngine({ path: join(copy, STORE) });
      assert.throws(open, /has commits up to 1 and names no redo log, but .* has commit 2/);
      await Promise.resolve();
    });
    await engine.close();
  });
});

Deno.test("a redo log of a later moment than the store is refused, and both stay as they are", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, STORE);
    const engine = openSqliteEngine({ path });
    await write(engine, 1);
    const old = Deno.readFileSync(path);
    const oldLog = Deno.readFileSync(`${path}-wal`);
    // A cleared range goes into the store, and so the redo log restarts.
    await engine.transact((tx) => Promise.resolve(tx.clearRange(EVERYTHING)));
    await write(engine, 2);
    await withFolder(async (mixed) => {
      Deno.writeFileSync(join(mixed, STORE), old);
      Deno.writeFileSync(join(mixed, `${STORE}-wal`), oldLog);
      for (const end of ["-redo1", "-redo2"]) {
        Deno.copyFileSync(path + end, join(mixed, STORE + end));
      }
      const redo = Deno.readFileSync(join(mixed, `${STORE}-redo1`));
      for (let attempt = 0; attempt < 2; attempt++) {
        assert.throws(() => openSqliteEngine({ path: join(mixed, STORE) }), /not of one moment/);
        assert.deepEqual(Deno.readFileSync(join(mixed, `${STORE}-redo1`)), redo);
      }
      await Promise.resolve();
    });
    await engine.close();
  });
});

Deno.test("of a commit that fails while its rows are set nothing is read, now and after a kill", async () => {
  await withFolder(async (folder) => {
    const engine = openSqliteEngine({ path: join(folder, STORE), pagesMax: 60 });
    await write(engine, 0, "before");
    const get = (engine: Engine) => engine.snapshot((tx) => tx.get(bytes(key(0))));
    assert.deepEqual(await get(engine), bytes("before"));
    // Less than a record of the redo log may have, but more than the store has room for.
    const failing = engine.transact((tx) => {
      tx.set(bytes(key(0)), bytes("never"));
      for (let index = 0; index < 5; index++) tx.set(bytes(`l${index}`), new Uint8Array(90_000));
      return Promise.resolve();
    });
    await assert.rejects(failing, EngineUnavailable);
    assert.deepEqual(await get(engine), bytes("before"));
    await withCopy(folder, async (killed) => {
      assert.deepEqual([...await contentOf(killed)], [[key(0), "before"]]);
    });
    await write(engine, 1);
    await withCopy(folder, async (killed) => assert.equal((await contentOf(killed)).size, 2));
    await engine.close();
  });
});

Deno.test("what a transaction clears by a range and sets beside it survives a kill together", async () => {
  await withFolder(async (folder) => {
    const engine = openSqliteEngine({ path: join(folder, STORE) });
    for (const number of [1, 2, 3]) await write(engine, number);
    await engine.transact((tx) => {
      tx.clearRange({ begin: bytes(key(1)), end: bytes(key(3)) });
      tx.set(bytes(key(4)), bytes("4"));
      return Promise.resolve();
    });
    await withCopy(folder, async (killed) => {
      assert.deepEqual([...(await contentOf(killed)).keys()], [key(3), key(4)]);
    });
    await engine.close();
  });
});
