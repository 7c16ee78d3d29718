/** A backup of the embedded store is the store at one moment, whatever is written meanwhile. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { Worker } from "node:worker_threads";
import { dirname, join } from "node:path";
import type { BackupPiece, Bytes, Engine } from "../../../../src/kv/engine.ts";
import type { CheckpointAnswer, PassRequest } from "../../../../src/kv/sqlite/checkpoint_pass.ts";
import { newPiece, readPiece, spoolPath } from "../../../../src/kv/sqlite/backup/pages_piece.ts";
import { restoreSqliteStore } from "../../../../src/kv/sqlite/backup/restore_store.ts";
import { checkSqliteFile } from "../../../../src/kv/sqlite/check_file.ts";
import { openSqliteEngine } from "../../../../src/kv/sqlite/engine.ts";
import { checkPages } from "../../../../src/kv/sqlite/pages/page_check.ts";
import { pack } from "../../../../src/kv/tuple.ts";
import {
  judge,
  keepWriting,
  SMALL_SIZES,
  withWriters,
  writeSome,
} from "../../../support/random_writers.ts";

const NOW_MS = Date.UTC(2026, 10, 26);
const WISH = { nowMs: NOW_MS, prepare: async () => {} };
async function takePieces(engine: Engine, onPiece = async () => {}): Promise<BackupPiece[]> {
  const pieces: BackupPiece[] = [];
  for await (const piece of engine.backup()) {
    pieces.push(piece);
    await onPiece();
  }
  return pieces;
}

async function* bytesOf(pieces: readonly BackupPiece[]): AsyncGenerator<Bytes> {
  for (const { bytes } of pieces) yield bytes;
}

async function restored(
  folder: string,
  pieces: readonly BackupPiece[],
  body: (engine: Engine) => Promise<void>,
): Promise<void> {
  const path = join(folder, "restored", "store.sqlite");
  await restoreSqliteStore(path, bytesOf(pieces), WISH);
  assert.deepEqual(checkSqliteFile(path), []);
  const { faults, unknown } = checkPages(path);
  assert.deepEqual({ faults, unknown }, { faults: [], unknown: 0 });
  const engine = openSqliteEngine({ path, sizes: SMALL_SIZES });
  try {
    await body(engine);
  } finally {
    await engine.close();
    await Deno.remove(join(folder, "restored"), { recursive: true });
  }
}

Deno.test("a backup of a store at rest is that store, and it goes on with larger versions", async () => {
  await withWriters(async (world) => {
    await writeSome(world, 50);
    const pieces = await takePieces(world.engine);
    const before = await world.engine.snapshot((tx) => tx.readVersion());
    await restored(world.folder, pieces, async (engine) => {
      assert.deepEqual(await judge(engine, world.writers), world.writers.map(() => 50));
      const version = await engine.snapshot((tx) => tx.readVersion());
      assert.ok(version > before && version >= BigInt(NOW_MS));
      await engine.transact((tx) => Promise.resolve(tx.set(pack(["more"]), pack([1]))));
    });
  });
});

Deno.test("a backup under writes is one moment, at or after the last write acknowledged before it", async () => {
  await withWriters(async (world) => {
    await writeSome(world, 50);
    for (let round = 0; round < 4; round++) {
      const writing = keepWriting(world);
      const before = world.writers.map(({ acknowledged }) => acknowledged);
      const pause = () => new Promise<void>((resolve) => setTimeout(resolve, 20));
      const pieces = await takePieces(world.engine, pause);
      await writing.end();
      const after = world.writers.map(({ acknowledged }) => acknowledged);
      await restored(world.folder, pieces, async (engine) => {
        const counts = await judge(engine, world.writers);
        for (const [at, count] of counts.entries()) {
          assert.ok(count >= before[at]! && count <= after[at]!);
        }
      });
      assert.throws(() => Deno.statSync(spoolPath(world.path)), Deno.errors.NotFound);
    }
    assert.ok(world.writers[0]!.acknowledged > 100);
  });
});

Deno.test("a second backup is refused while one runs, and possible when it was given up", async () => {
  await withWriters(async ({ engine, path }) => {
    const first = engine.backup();
    await first.next();
    await assert.rejects(engine.backup().next(), { message: /Another backup/ });
    await first.return({ version: 0n, ageMs: 0 });
    assert.throws(() => Deno.statSync(spoolPath(path)), Deno.errors.NotFound);
    assert.ok((await takePieces(engine)).length > 0);
  });
});

async function closeWithinBackup(): Promise<void> {
  await withWriters(async (world) => {
    await writeSome(world, 20);
    const backup = world.engine.backup();
    await backup.next();
    await world.engine.close();
    await assert.rejects(async () => {
      for await (const _ of backup);
    }, { name: "EngineClosed" });
    await assert.rejects(Deno.stat(`${world.path}-wal`), Deno.errors.NotFound, "it is a clean one");
  });
}

Deno.test("a close ends a running backup, which fails", closeWithinBackup);

Deno.test("that close is clean too where the threads of the store end late", async () => {
  const { terminate } = Worker.prototype;
  const late: Promise<unknown>[] = [];
  Worker.prototype.terminate = function () {
    const soon = new Promise((resolve) => setTimeout(resolve, 500));
    late.push(soon.then(() => terminate.call(this)));
    return Promise.resolve(0);
  };
  try {
    await closeWithinBackup();
  } finally {
    Worker.prototype.terminate = terminate;
    assert.ok(late.length > 0);
    await Promise.all(late);
  }
});

Deno.test("a page that is not what was last written there fails the backup, which names it", async () => {
  await withWriters(async (world) => {
    await writeSome(world, 50);
    await world.engine.forget();
    // A byte behind the pages that the running engine reads and writes again.
    const { size } = await Deno.stat(world.path);
    const file = await Deno.open(world.path, { write: true });
    const page = size / 4096;
    await file.seek((page - 1) * 4096 + 2_000, Deno.SeekMode.Start);
    await file.write(Uint8Array.of(0xa5, 0x5a, 0xa5));
    file.close();
    await assert.rejects(takePieces(world.engine), {
      name: "EngineUnavailable",
      message: new RegExp(`\\(${page}\\)`),
    });
  });
});

/** The same without the last pages of the first piece. */
function withoutPages([first, ...rest]: readonly BackupPiece[], pages: number): BackupPiece[] {
  const whole = readPiece(first!.bytes);
  assert.ok(whole !== undefined && "numbers" in whole);
  const { piece, content } = newPiece(whole.numbers.slice(0, -pages), whole.pageBytes);
  content.set(whole.content.subarray(0, content.length));
  return [{ ...first!, bytes: piece }, rest.at(-1)!];
}

Deno.test("pieces that are missing, doubled at the end or of something else make no store", async () => {
  await withWriters(async (world) => {
    await writeSome(world, 60);
    const pieces = await takePieces(world.engine);
    const wrong: Record<string, BackupPiece[]> = {
      "the end is missing": pieces.slice(0, -1),
      "pages are missing": withoutPages(pieces, 3),
      "something follows the end": [...pieces, pieces[0]!],
      "no piece": [{ ...pieces[0]!, bytes: Uint8Array.of(1, 2, 3) }],
    };
    for (const [name, some] of Object.entries(wrong)) {
      const path = join(world.folder, name, "store.sqlite");
      const message = name === "pages are missing" ? /Pages of the store are missing/ : /./;
      await assert.rejects(restoreSqliteStore(path, bytesOf(some), WISH), { message }, name);
    }
  });
});

Deno.test("a restore that was killed at any step is made again, and one that is complete is not", async () => {
  await withWriters(async (world) => {
    await writeSome(world, 20);
    const pieces = await takePieces(world.engine);
    const path = join(world.folder, "restored", "store.sqlite");
    const folder = dirname(path);
    const making = join(folder, "restoring");
    const left: Record<string, readonly string[]> = {
      "among the pieces": [],
      "behind the private files": ["credentials.json", "jwt_secret"],
      "before the store has its name": ["credentials.json", "store.sqlite-pages"],
    };
    for (const [name, files] of Object.entries(left)) {
      await Deno.mkdir(making, { recursive: true });
      await Deno.writeTextFile(join(making, "store.sqlite"), "half");
      for (const file of files) await Deno.writeTextFile(join(folder, file), "of the one before");
      await restored(world.folder, pieces, async (engine) => {
        assert.deepEqual(await judge(engine, world.writers), world.writers.map(() => 20), name);
      });
    }
    await restoreSqliteStore(path, bytesOf(pieces), WISH);
    await Deno.mkdir(making);
    await assert.rejects(restoreSqliteStore(path, bytesOf(pieces), WISH), /is not empty/);
    await Deno.remove(path);
    await Deno.remove(making);
    await assert.rejects(restoreSqliteStore(path, bytesOf(pieces), WISH), /is not empty/);
  });
});

Deno.test("a restored store that cannot be closed whole does not get its name", async () => {
  await withWriters(async (world) => {
    await writeSome(world, 20);
    const pieces = await takePieces(world.engine);
    const path = join(world.folder, "restored", "store.sqlite");
    let reader: DatabaseSync | undefined;
    const prepare = async (engine: Engine) => {
      // A reader keeps SQLite from emptying its log, as a full disk does.
      reader = new DatabaseSync(join(dirname(path), "restoring", "store.sqlite"));
      reader.exec("BEGIN; SELECT * FROM store");
      await engine.transact((tx) => Promise.resolve(tx.set(pack(["later"]), pack([1]))));
    };
    const wish = { nowMs: NOW_MS, prepare };
    await assert.rejects(restoreSqliteStore(path, bytesOf(pieces), wish), /could not be closed/);
    reader!.close();
    assert.deepEqual([...Deno.readDirSync(dirname(path))], []);
  });
});

/** Moves pages as another program may, and keeps the engine's checkpoints away meanwhile. */
const OTHER_CHECKPOINT = `
  const { DatabaseSync } = require("node:sqlite");
  const { parentPort, workerData } = require("node:worker_threads");
  const db = new DatabaseSync(workerData, { timeout: 1000 });
  parentPort.postMessage("begins");
  db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
  db.close();
`;

Deno.test("a backup beside another program's checkpoint has all commits, or fails", async () => {
  await withWriters(async (world) => {
    await writeSome(world, 50);
    const backup = world.engine.backup();
    const pieces: BackupPiece[] = [(await backup.next()).value as BackupPiece];
    await writeSome(world, 20);
    const other = new Worker(OTHER_CHECKPOINT, { eval: true, workerData: world.path });
    const ended = new Promise((resolve) => other.on("exit", resolve));
    await new Promise((resolve) => other.on("message", resolve));
    await new Promise((resolve) => setTimeout(resolve, 200));
    const failure = await (async () => {
      for await (const piece of backup) pieces.push(piece);
    })().catch((error) => error);
    await ended;
    if (failure === undefined) {
      await restored(world.folder, pieces, async (engine) => {
        assert.deepEqual(await judge(engine, world.writers), world.writers.map(() => 70));
      });
    } else assert.equal(failure.name, "EngineUnavailable");
    assert.ok((await takePieces(world.engine)).length > 0, "the next one goes on");
  });
});

Deno.test("no other program begins SQLite's log anew while moved pages are noted", async () => {
  await withWriters(async ({ engine, path }) => {
    await engine.close();
    const other = new DatabaseSync(path);
    const set = other.prepare("INSERT OR REPLACE INTO kv VALUES (x'01', ?, 0)");
    const empty = other.prepare("PRAGMA wal_checkpoint(TRUNCATE)");
    set.run("before");
    const program = new URL("../../../../src/kv/sqlite/checkpoint_worker.ts", import.meta.url);
    const worker = new Worker(program, { workerData: { path } });
    const ask = async (request: PassRequest) => {
      const answered = new Promise<CheckpointAnswer>((resolve) => worker.once("message", resolve));
      worker.postMessage(request);
      return await answered;
    };
    try {
      assert.deepEqual(await ask("noteMoved"), { taken: new Uint32Array(0) });
      for (const value of ["during", "after a pass"]) {
        set.run(value);
        assert.equal(empty.get()!.busy, 1, value);
        assert.ok("moved" in await ask("pass"));
      }
      set.run("moved before, and changed again");
      assert.equal(empty.get()!.checkpointed, 0, "nothing is moved under one who reads the file");
      worker.postMessage("drop" satisfies PassRequest);
      await ask("takeMoved");
      assert.equal(empty.get()!.busy, 0, "the log is free again");
    } finally {
      await worker.terminate();
      other.close();
    }
  });
});
