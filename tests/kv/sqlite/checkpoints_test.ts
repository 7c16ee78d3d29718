/** `forget()` of the embedded engine: cleared data is in none of its files any more. */

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { growthOf, openCheckpoints } from "../../../src/kv/sqlite/checkpoints.ts";
import { openPageSums, readPageSums } from "../../../src/kv/sqlite/pages/page_sums.ts";
import type { SqliteFile } from "../../../src/kv/sqlite/file.ts";
import { SQLITE_SIZES } from "../../../src/kv/sqlite/sizes.ts";
import { pack, rangeOf } from "../../../src/kv/tuple.ts";
import { type TemporarySqlite, temporarySqlite } from "../../support/temporary_engine.ts";

const SECRET = "Grete-Samsa-of-Prague";
/** From a few bytes to many pages: inside pages, and in pages of their own. */
const SIZES = [30, 200, 1_200, 5_000, 60_000, 100_000];
const ROUNDS = 60;

async function withStore(body: (store: TemporarySqlite) => Promise<void>): Promise<void> {
  const store = await temporarySqlite();
  try {
    await body(store);
  } finally {
    await store.dispose();
  }
}

/** How often the text occurs in the store's files. */
function placesOf({ directory }: TemporarySqlite, text: string): number {
  let places = 0;
  for (const { name } of Deno.readDirSync(directory)) {
    const bytes = Buffer.from(Deno.readFileSync(join(directory, name)));
    for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) places++;
  }
  return places;
}

function valueOf(text: string, size: number) {
  return new TextEncoder().encode(text.repeat(Math.ceil(size / text.length)).slice(0, size));
}

/** Secrets of all sizes between other values, in an order that splits pages again and again. */
async function fill({ engine }: TemporarySqlite): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    await engine.transact((tx) => {
      for (const [index, size] of SIZES.entries()) {
        const place = (round * 37 + index * 11) % 101;
        tx.set(pack(["secret", place, round]), valueOf(SECRET, size));
        tx.set(pack(["other", place, round]), valueOf("something else ", size));
        tx.set(pack(["secret-and-other", place, round]), valueOf(`${SECRET} or not `, 300));
      }
      return Promise.resolve();
    });
  }
}

async function clearSecrets({ engine }: TemporarySqlite): Promise<void> {
  for (let place = 0; place < 101; place++) {
    await engine.transact(async (tx) => {
      for (const { key } of await tx.getRange(rangeOf(["secret", place]))) tx.clear(key);
      for (const { key } of await tx.getRange(rangeOf(["secret-and-other", place]))) {
        tx.set(key, valueOf("nobody ", 250));
      }
    });
  }
}

Deno.test("forget() leaves nothing of what was cleared or overwritten in the database and its log", async () => {
  await withStore(async (store) => {
    await fill(store);
    assert.ok(placesOf(store, SECRET) > 1_000);
    await clearSecrets(store);
    assert.ok(placesOf(store, SECRET) > 0, "the log has it still");
    await store.engine.forget();
    assert.equal(placesOf(store, SECRET), 0);
    const left = await store.engine.snapshot((tx) => tx.getRange(rangeOf(["other", 0])));
    assert.ok(left.every(({ value }) => new TextDecoder().decode(value).startsWith("something")));
  });
});

Deno.test("forget() does not wait for what reads at an old version, and that reads on or runs again", async () => {
  await withStore(async (store) => {
    const { engine } = store;
    await fill(store);
    let go = () => {};
    const until = new Promise<void>((resolve) => go = resolve);
    const reading = engine.snapshot(async (tx) => {
      await tx.getRange(rangeOf(["secret", 1]));
      await until;
      return await tx.getRange(rangeOf(["secret", 1]));
    });
    reading.catch(() => {});
    await clearSecrets(store);
    await engine.forget();
    assert.equal(placesOf(store, SECRET), 0);
    go();
    // A client hears that the store is unavailable for now, not that the request is at fault.
    await assert.rejects(reading, { name: "EngineUnavailable" });
  });
});

Deno.test("a transaction whose version is given up each time finds the store unavailable, and writes nothing", async () => {
  await withStore(async ({ engine }) => {
    let runs = 0;
    const writing = engine.transact(async (tx) => {
      runs++;
      await tx.get(pack(["held"]));
      await engine.transact((other) =>
        Promise.resolve(other.set(pack(["later"]), valueOf("run ", 10 + runs)))
      );
      await engine.forget();
      await tx.get(pack(["held"]));
      tx.set(pack(["never"]), valueOf("never ", 10));
    });
    await assert.rejects(writing, { name: "EngineUnavailable" });
    assert.equal(runs, 3);
    assert.equal(await engine.snapshot((tx) => tx.get(pack(["never"]))), undefined);
  });
});

Deno.test("forget() beside steady commits ends, and loses none of them", async () => {
  await withStore(async (store) => {
    const { engine } = store;
    await fill(store);
    await clearSecrets(store);
    let isOver = false;
    let written = 0;
    const writing = (async () => {
      for (; !isOver && written < 20_000; written++) {
        await engine.transact((tx) =>
          Promise.resolve(tx.set(pack(["later", written]), valueOf("later ", 3_000)))
        );
      }
    })();
    await Promise.all([engine.forget(), engine.forget()]);
    await engine.forget();
    isOver = true;
    await writing;
    assert.equal(placesOf(store, SECRET), 0);
    const later = await engine.snapshot((tx) => tx.getRange(rangeOf(["later"])));
    assert.equal(later.length, written);
    const again = await store.reopen();
    assert.equal((await again.snapshot((tx) => tx.getRange(rangeOf(["later"])))).length, written);
  });
});

Deno.test("forget() empties what a killed process left in the log, though nothing is written since", async () => {
  await withStore(async (killed) => {
    await fill(killed);
    await clearSecrets(killed);
    const names = [...Deno.readDirSync(killed.directory)].map(({ name }) => name);
    const files = names.map((name) =>
      [name, Deno.readFileSync(join(killed.directory, name))] as const
    );
    const store = await temporarySqlite({ files, pairs: [] });
    try {
      assert.ok(placesOf(store, SECRET) > 0, "the log has it still");
      await store.engine.forget();
      assert.equal(placesOf(store, SECRET), 0);
    } finally {
      await store.dispose();
    }
  });
});

Deno.test("the log may be an eighth of the database, from 24 MB to four times that", () => {
  const growthAt = (pages: number) => growthOf({ databasePages: () => pages });
  assert.deepEqual([0, 1, 48_000].map(growthAt), [1, 1, 1]);
  assert.deepEqual([72_000, 96_000, 192_000].map(growthAt), [1.5, 2, 4]);
  assert.deepEqual([192_001, 2_000_000_000].map(growthAt), [4, 4]);
});

/** A worker that answers passes as if everything was moved, and dies when told to finish. */
const DYING_WORKER = new URL(
  "data:text/javascript," + encodeURIComponent(`
    import { parentPort } from "node:worker_threads";
    parentPort.on("message", (request) => {
      if (request === "finish") throw new Error("out of memory");
      parentPort.postMessage({ moved: 1_000_000 });
    });
  `),
);

Deno.test("a worker that dies within a finish breaks the engine, before commits may begin the log anew", async () => {
  const told: string[] = [];
  const released = Promise.withResolvers<void>();
  const file = {
    path: "unused",
    bounds: SQLITE_SIZES,
    logFrames: () => 1_000_000,
    databasePages: () => 1,
    truncateLog: () => false,
  } as unknown as SqliteFile;
  const checkpoints = openCheckpoints(file, {
    giveUpOldVersions() {},
    flush: () => true,
    untilFlushed: () => Promise.resolve(true),
    onUnnoted() {},
    onBroken: (cause) => void told.push(`broken: ${(cause as Error).message}`),
    onRelease() {
      told.push("released");
      released.resolve();
    },
  }, DYING_WORKER);
  // A worker alone does not keep a process from ending.
  const alive = setInterval(() => {}, 1_000);
  checkpoints.afterCommit();
  await released.promise;
  clearInterval(alive);
  assert.match(told[0]!, /^broken: .*out of memory/);
  assert.equal(told[1], "released");
  await checkpoints.close();
});

/** A worker that dies in its first pass, in which it may have moved pages. */
const DYING_AT_ONCE = new URL(
  "data:text/javascript," + encodeURIComponent(`
    import { parentPort } from "node:worker_threads";
    parentPort.on("message", () => {
      throw new Error("out of memory");
    });
  `),
);

Deno.test("where a worker dies in a pass the sums of pages are dropped, for nobody knows what it moved", async () => {
  const folder = await Deno.makeTempDir({ prefix: "daybook_dying_" });
  const path = join(folder, "store");
  const sums = openPageSums(path, 4096);
  sums.write(new Map([[1, 1]]), undefined);
  sums.close();
  const told = Promise.withResolvers<string>();
  const file = { path, bounds: SQLITE_SIZES, logFrames: () => 6_000, databasePages: () => 1 };
  const checkpoints = openCheckpoints(file as unknown as SqliteFile, {
    giveUpOldVersions() {},
    flush: () => true,
    untilFlushed: () => Promise.resolve(true),
    onUnnoted: told.resolve,
    onBroken: () => assert.fail("a store whose log is whole goes on"),
    onRelease() {},
  }, DYING_AT_ONCE);
  checkpoints.afterCommit();
  const alive = setInterval(() => {}, 1_000);
  assert.match(await told.promise, /out of memory.*They begin anew/);
  clearInterval(alive);
  assert.equal(readPageSums(path), undefined);
  await checkpoints.close();
  await Deno.remove(folder, { recursive: true });
});

/** A worker that answers a pass as if everything was moved, and reports a request to finish. */
const ASKED_WORKER = new URL(
  "data:text/javascript," + encodeURIComponent(`
    import { parentPort } from "node:worker_threads";
    const answers = { pass: { moved: 1_000_000 }, finish: { unsynced: "asked" }, end: { isEnded: true } };
    parentPort.on("message", (request) => parentPort.postMessage(answers[request]));
  `),
);

const SILENT_WORKER = new URL(
  "data:text/javascript," + encodeURIComponent(`
    import { parentPort } from "node:worker_threads";
    parentPort.on("message", () => {});
  `),
);

const LONG_LOG = {
  path: "unused",
  bounds: { ...SQLITE_SIZES, passMsMax: 20 },
  logFrames: () => 1_000_000,
  databasePages: () => 1,
  truncateLog: () => false,
} as unknown as SqliteFile;

Deno.test("no page is moved in a finish of a log that may not be on the disk", async () => {
  const told: unknown[] = [];
  const released = Promise.withResolvers<void>();
  const checkpoints = openCheckpoints(LONG_LOG, {
    giveUpOldVersions() {},
    flush: () => true,
    untilFlushed: () => Promise.resolve(false),
    onBroken: (cause) => void told.push(cause),
    onUnnoted() {},
    onRelease: released.resolve,
  }, ASKED_WORKER);
  const alive = setInterval(() => {}, 1_000);
  checkpoints.afterCommit();
  await released.promise;
  clearInterval(alive);
  assert.deepEqual(told, []);
  assert.equal(await checkpoints.close(), true);
});

Deno.test("close() says where a pass did not end, and waits for it no longer than it may", async () => {
  const checkpoints = openCheckpoints(LONG_LOG, {
    giveUpOldVersions() {},
    flush: () => true,
    untilFlushed: () => Promise.resolve(true),
    onBroken() {},
    onUnnoted() {},
    onRelease() {},
  }, SILENT_WORKER);
  checkpoints.afterCommit();
  assert.equal(await checkpoints.close(), false);
});
