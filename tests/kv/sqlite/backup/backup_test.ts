/** A backup of the embedded store is the store at one moment, whatever is written meanwhile. */

import assert from "node:assert/strict";
import { join } from "node:path";
import type { BackupPiece, Bytes, Engine } from "../../../../src/kv/engine.ts";
import { movedPagesPath } from "../../../../src/kv/sqlite/backup/moved_pages.ts";
import { restoreSqliteStore } from "../../../../src/kv/sqlite/backup/restore_store.ts";
import { checkSqliteFile } from "../../../../src/kv/sqlite/check_file.ts";
import { openSqliteEngine } from "../../../../src/kv/sqlite/engine.ts";
import { checkPages } from "../../../../src/kv/sqlite/pages/page_check.ts";
import { pack, rangeOf } from "../../../../src/kv/tuple.ts";

const NOW_MS = Date.UTC(2026, 10, 26);
const WISH = { nowMs: NOW_MS, prepare: async () => {} };
/** So small that checkpoints never rest. */
const SIZES = {
  pagesWanted: 20,
  windowBytesAtFirst: 16_384,
  windowBytesMin: 8_192,
  windowBytesMax: 65_536,
  startFrames: 40,
  finishFrames: 10,
  slowFrames: 2_000,
  logFramesMax: 4_000,
};
const WRITERS = 4;
const KEYS = 400;

/** What a writer has made of its keys, after each of its transactions. */
interface Writer {
  readonly number: number;
  readonly states: Map<number, number>[];
  /** Transactions that were acknowledged. */
  acknowledged: number;
}

interface World {
  readonly folder: string;
  readonly path: string;
  readonly engine: Engine;
  readonly writers: readonly Writer[];
}

async function withWorld(body: (world: World) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_backup_" });
  const path = join(folder, "store.sqlite");
  const engine = openSqliteEngine({ path, sizes: SIZES });
  const writers = Array.from({ length: WRITERS }, (_, number) => ({
    number,
    states: [new Map<number, number>()],
    acknowledged: 0,
  }));
  try {
    await body({ folder, path, engine, writers });
  } finally {
    await engine.close();
    await Deno.remove(folder, { recursive: true });
  }
}

/** A random value of random size, from a seed that its model keeps. */
function valueOf(seed: number): Bytes {
  const value = new Uint8Array(10 + (seed * 7919) % 3_000);
  new DataView(value.buffer).setUint32(0, seed);
  return value.fill(seed & 0xff, 4);
}

/** One transaction: sets some keys, clears one, sometimes a range, and counts. */
async function writeOnce(engine: Engine, writer: Writer, random: () => number): Promise<void> {
  const { number, states } = writer;
  const state = new Map(states.at(-1));
  const cleared = Math.floor(random() * KEYS);
  const isRange = random() < 0.05;
  const sets = Array.from({ length: 6 }, () =>
    [
      Math.floor(random() * KEYS),
      Math.floor(random() * 0x7fffffff),
    ] as const);
  if (isRange) { for (let key = cleared; key < cleared + 20; key++) state.delete(key); }
  else state.delete(cleared);
  for (const [key, seed] of sets) state.set(key, seed);
  await engine.transact((tx) => {
    if (isRange) {
      tx.clearRange({
        begin: pack(["data", number, cleared]),
        end: pack(["data", number, cleared + 20]),
      });
    } else tx.clear(pack(["data", number, cleared]));
    for (const [key, seed] of sets) tx.set(pack(["data", number, key]), valueOf(seed));
    tx.set(pack(["done", number]), pack([states.length]));
    tx.add(pack(["all"]), 1n);
    return Promise.resolve();
  });
  states.push(state);
  writer.acknowledged = states.length - 1;
}

/** Writes until `end` is called. */
function keepWriting({ engine, writers }: World): { end(): Promise<void> } {
  let isOver = false;
  const running = writers.map(async (writer) => {
    while (!isOver) await writeOnce(engine, writer, Math.random);
  });
  return {
    async end() {
      isOver = true;
      await Promise.all(running);
    },
  };
}

async function writeSome({ engine, writers }: World, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    await Promise.all(writers.map((writer) => writeOnce(engine, writer, Math.random)));
  }
}

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

/** Compares a store with what its writers had done by then. Returns how much that is for each. */
async function judge(engine: Engine, writers: readonly Writer[]): Promise<number[]> {
  return await engine.snapshot(async (tx) => {
    const counts: number[] = [];
    for (const { number, states } of writers) {
      const done = await tx.get(pack(["done", number]));
      const count = done === undefined ? 0 : states.findIndex((_, at) => isSame(pack([at]), done));
      counts.push(count);
      const pairs = await tx.getRange(rangeOf(["data", number]));
      const expected = [...states[count]!].sort(([a], [b]) => a - b)
        .map(([key, seed]) => ({ key: pack(["data", number, key]), value: valueOf(seed) }));
      assert.deepEqual(pairs.map(({ key }) => key), expected.map(({ key }) => key));
      for (const [at, { value }] of pairs.entries()) {
        assert.ok(isSame(value, expected[at]!.value), `writer ${number} after ${count}`);
      }
    }
    const all = await tx.get(pack(["all"]));
    const sum = all === undefined ? 0 : Number(new DataView(all.buffer, all.byteOffset)
      .getBigInt64(0, true));
    assert.equal(sum, counts.reduce((total, count) => total + count, 0), "one moment for all");
    return counts;
  });
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
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
  const engine = openSqliteEngine({ path, sizes: SIZES });
  try {
    await body(engine);
  } finally {
    await engine.close();
    await Deno.remove(join(folder, "restored"), { recursive: true });
  }
}

Deno.test("a backup of a store at rest is that store, and it goes on with larger versions", async () => {
  await withWorld(async (world) => {
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
  await withWorld(async (world) => {
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
      assert.throws(() => Deno.statSync(movedPagesPath(world.path)), Deno.errors.NotFound);
    }
    assert.ok(world.writers[0]!.acknowledged > 100);
  });
});

Deno.test("a second backup is refused while one runs, and possible when it was given up", async () => {
  await withWorld(async ({ engine, path }) => {
    const first = engine.backup();
    await first.next();
    await assert.rejects(engine.backup().next(), { message: /Another backup/ });
    await first.return({ version: 0n });
    assert.throws(() => Deno.statSync(movedPagesPath(path)), Deno.errors.NotFound);
    assert.ok((await takePieces(engine)).length > 0);
  });
});

Deno.test("a close ends a running backup, which fails", async () => {
  await withWorld(async (world) => {
    await writeSome(world, 20);
    const backup = world.engine.backup();
    await backup.next();
    await world.engine.close();
    await assert.rejects(async () => {
      for await (const _ of backup);
    }, { name: "EngineClosed" });
  });
});

Deno.test("a page that is not what was last written there fails the backup, which names it", async () => {
  await withWorld(async (world) => {
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
  const bytes = first!.bytes.slice(0, first!.bytes.length - pages * 4096);
  return [{ ...first!, bytes }, rest.at(-1)!];
}

Deno.test("pieces that are missing, doubled at the end or of something else make no store", async () => {
  await withWorld(async (world) => {
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
      await assert.rejects(restoreSqliteStore(path, bytesOf(some), WISH), Error, name);
    }
  });
});
