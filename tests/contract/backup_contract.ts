/**
 * The contract: a backup is the whole store as of one moment, whatever all nodes write meanwhile,
 * and a store is made of it again.
 */

import assert from "node:assert/strict";
import type { BackupMoment, BackupPiece, Bytes, Engine } from "../../src/kv/engine.ts";
import { kvLimits } from "../../src/kv/engine.ts";
import { pack, rangeOf } from "../../src/kv/tuple.ts";
import {
  judge,
  keepWriting,
  newWriters,
  type Writer,
  writeSome,
  type Writing,
} from "../support/random_writers.ts";
import { bytes, range } from "./engine_fixture.ts";

export interface BackupStores {
  /** Each is a node of the same store. */
  readonly nodes: readonly Engine[];
  /** Makes a store of the pieces, opens it for `body` and removes it. */
  restored(
    pieces: AsyncIterable<Bytes>,
    body: (engine: Engine) => Promise<void>,
  ): Promise<void>;
  dispose(): Promise<void>;
}

export interface TakenBackup {
  readonly pieces: readonly BackupPiece[];
  readonly moment: BackupMoment;
}

export async function takeBackup(
  engine: Engine,
  onPiece = async () => {},
): Promise<TakenBackup> {
  const backup = engine.backup();
  const pieces: BackupPiece[] = [];
  for (;;) {
    const step = await backup.next();
    if (step.done === true) return { pieces, moment: step.value };
    pieces.push(step.value);
    await onPiece();
  }
}

export async function* bytesOf(pieces: readonly BackupPiece[]): AsyncGenerator<Bytes> {
  for (const { bytes } of pieces) yield bytes;
}

/** Everything except what an engine keeps for itself. */
const data = { begin: new Uint8Array(), end: Uint8Array.of(0xfe) };

/** Each writer writes on one of the nodes. */
function shared(nodes: readonly Engine[], writers: readonly Writer[]): Writing[] {
  return nodes.map((engine, node) => ({
    engine,
    writers: writers.filter(({ number }) => number % nodes.length === node),
  }));
}

export function backupContract(name: string, open: () => Promise<BackupStores>): void {
  function test(what: string, body: (stores: BackupStores) => Promise<void>): void {
    Deno.test(`${name}: ${what}`, async () => {
      const stores = await open();
      try {
        await body(stores);
      } finally {
        await stores.dispose();
      }
    });
  }
  restTest(test);
  writesTest(test);
  onceTest(test);
  oversizeTest(test);
  endTests(test);
  wrongPiecesTest(test);
}

type Test = (what: string, body: (stores: BackupStores) => Promise<void>) => void;

function restTest(test: Test): void {
  test("a backup of a store at rest is that store, and stamps go on behind it", async (stores) => {
    const engine = stores.nodes[0]!;
    const writers = newWriters();
    await writeSome({ engine, writers }, 30);
    await engine.transact((tx) =>
      Promise.resolve(tx.setStamped(bytes("s"), bytes("a"), bytes("")))
    );
    const before = await engine.snapshot((tx) => tx.getRange(data));
    const version = await engine.snapshot((tx) => tx.readVersion());
    const { pieces, moment } = await takeBackup(engine);
    assert.ok(moment.version >= version);
    await stores.restored(bytesOf(pieces), async (engine) => {
      assert.deepEqual(await engine.snapshot((tx) => tx.getRange(data)), before);
      await engine.transact((tx) => {
        return Promise.resolve(tx.setStamped(bytes("s"), bytes("b"), bytes("")));
      });
      const stamped = await engine.snapshot((tx) => tx.getRange(range("s", "t")));
      assert.deepEqual(stamped.map(({ key }) => String.fromCharCode(key.at(-1)!)), ["a", "b"]);
    });
  });
}

function writesTest(test: Test): void {
  test("a backup is one moment of all nodes, at or after what was acknowledged before it", async (stores) => {
    const writers = newWriters();
    const writing = shared(stores.nodes, writers);
    for (let round = 0; round < 3; round++) {
      for (const one of writing) await writeSome(one, 20);
      // Otherwise some stores are written faster than they can be read.
      const running = writing.map((one) => keepWriting(one, 2));
      const before = writers.map(({ acknowledged }) => acknowledged);
      const node = stores.nodes[round % stores.nodes.length]!;
      const { pieces } = await takeBackup(node);
      await Promise.all(running.map((one) => one.end()));
      const after = writers.map(({ acknowledged }) => acknowledged);
      await stores.restored(bytesOf(pieces), async (engine) => {
        const counts = await judge(engine, writers);
        for (const [at, count] of counts.entries()) {
          assert.ok(count >= before[at]! && count <= after[at]!);
        }
      });
    }
    assert.ok(writers.every(({ acknowledged }) => acknowledged > 60));
  });
}

/** What is copied after a change has it already, and the change must not be made again. */
function onceTest(test: Test): void {
  test("each change has its effect once, before and behind what was copied so far", async (stores) => {
    const [engine, other = engine] = stores.nodes;
    await writeSome({ engine: engine!, writers: newWriters() }, 30);
    async function change(number: number): Promise<void> {
      for (const place of ["a", "z"]) {
        await engine!.transact((tx) => {
          tx.add(pack([place]), 1n);
          tx.clearRange(rangeOf([place, number]));
          return Promise.resolve();
        });
        await other!.transact((tx) => {
          tx.set(pack([place, number, 1]), pack([number]));
          return Promise.resolve();
        });
      }
    }
    let changes = 0;
    const { pieces } = await takeBackup(engine!, async () => {
      if (changes < 100) await change(++changes);
    });
    assert.ok(changes > 1);
    await stores.restored(bytesOf(pieces), async (made) => {
      for (const place of ["a", "z"]) {
        const pairs = await made.snapshot((tx) => tx.getRange(rangeOf([place])));
        const sum = await made.snapshot((tx) => tx.get(pack([place])));
        const count = Number(new DataView(sum!.buffer, sum!.byteOffset).getBigInt64(0, true));
        const keys = Array.from({ length: count }, (_, at) => pack([place, at + 1, 1]));
        // The last pair may be from after the moment.
        const last = pairs.length < count ? keys.slice(0, -1) : keys;
        assert.deepEqual(pairs.map(({ key }) => key), last);
      }
    });
  });
}

/** What capturing adds must not make a transaction too large. */
function oversizeTest(test: Test): void {
  test("a transaction of the largest size lands while a backup runs, and is in it", async (stores) => {
    const engine = stores.nodes[0]!;
    // Keys on both sides of what was copied first.
    await writeSome({ engine, writers: newWriters() }, 10);
    const large = new Uint8Array(kvLimits.valueBytesMax).fill(7);
    let isWritten = false;
    const { pieces } = await takeBackup(engine, async () => {
      if (isWritten) return;
      isWritten = true;
      await engine.transact((tx) => {
        for (let i = 0; i < 99; i++) tx.set(pack([i % 2 === 0 ? "a" : "z", i]), large);
        return Promise.resolve();
      });
    });
    const before = await engine.snapshot((tx) => tx.getRange(data));
    await stores.restored(bytesOf(pieces), async (engine) => {
      assert.deepEqual(await engine.snapshot((tx) => tx.getRange(data)), before);
    });
  });
}

function endTests(test: Test): void {
  test("a second backup is refused while one runs, and possible when it was given up", async (stores) => {
    const engine = stores.nodes[0]!;
    await writeSome({ engine, writers: newWriters() }, 10);
    const first = engine.backup();
    await first.next();
    for (const node of stores.nodes) {
      await assert.rejects(node.backup().next(), { message: /Another backup/ });
    }
    await first.return({ version: 0n, ageMs: 0 });
    for (const node of stores.nodes) assert.ok((await takeBackup(node)).pieces.length > 0);
  });

  test("a close ends a running backup, which fails", async (stores) => {
    const engine = stores.nodes[0]!;
    await writeSome({ engine, writers: newWriters() }, 10);
    const backup = engine.backup();
    await backup.next();
    await engine.close();
    await assert.rejects(async () => {
      for await (const _ of backup);
    }, { name: "EngineClosed" });
    const other = stores.nodes[1];
    if (other !== undefined) assert.ok((await takeBackup(other)).pieces.length > 0);
  });
}

function wrongPiecesTest(test: Test): void {
  test("no store is made of pieces without an end, with one too many, or of something else", async (stores) => {
    const engine = stores.nodes[0]!;
    const writers = newWriters();
    await writeSome({ engine, writers }, 30);
    const { pieces } = await takeBackup(engine);
    const wrong: Record<string, BackupPiece[]> = {
      "none at all": [],
      "the end is missing": pieces.slice(0, -1),
      "something follows the end": [...pieces, pieces[0]!],
      "no piece": [{ ...pieces[0]!, bytes: Uint8Array.of(1, 2, 3) }],
      "cut off": [{ ...pieces[0]!, bytes: pieces[0]!.bytes.slice(0, 100) }, pieces.at(-1)!],
    };
    const unreached = () => Promise.reject(new Error("it was opened"));
    for (const [what, some] of Object.entries(wrong)) {
      const making = stores.restored(bytesOf(some), unreached);
      await assert.rejects(making, (error: Error) => error.message !== "it was opened", what);
    }
    // Nothing of these tries is in the way.
    await stores.restored(bytesOf(pieces), async (engine) => {
      assert.deepEqual(await judge(engine, writers), writers.map(() => 30));
    });
  });
}
