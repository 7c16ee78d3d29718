/** The redo log: what can be read back after kills, power cuts and disk faults. */

import assert from "node:assert/strict";
import { join } from "node:path";
import fc from "fast-check";
import type { Bytes } from "../../../src/kv/engine.ts";
import { readRedoLog } from "../../../src/kv/sqlite/left_redo_log.ts";
import {
  createRedoLog,
  encodeRedoRecord,
  recordBytes,
  type RedoLog,
  redoPathsOf,
  type RedoRecord,
  removeRedoLog,
  seedOf,
} from "../../../src/kv/sqlite/redo_log.ts";

const ID = Uint8Array.from({ length: 16 }, (_, index) => index);
const OTHER_ID = Uint8Array.from({ length: 16 }, (_, index) => 100 + index);

/**
 * Made by Python. The head: `b"DBKREDO2" + id`, and its zlib.crc32 as `<I`. The record: the
 * first four bytes of the id; as `<II` the length of the rest and the CRC-32 of id, version and
 * rest; the version as `<Q`; and the rest in `<I`, `<H` and `<HI` parts.
 */
const GOLDEN_HEAD = "44424b5245444f32000102030405060708090a0b0c0d0e0fa245a82c";
const GOLDEN =
  "00010203200000007dd254d30700000002000000010000000400676f6e650100050000006b76616c75650400000000006b657932";
const GOLDEN_RECORD = record(2 ** 33 + 7, ["gone"], ["k", "value", "key2", ""]);
const HEAD_BYTES = GOLDEN_HEAD.length / 2;

function bytes(text: string): Bytes {
  return new TextEncoder().encode(text);
}

function record(version: number, cleared: string[], pairs: string[]): RedoRecord {
  return { version, cleared: cleared.map(bytes), pairs: pairs.map(bytes) };
}

/** `count` consecutive records. */
function records(from: number, count: number): RedoRecord[] {
  return Array.from(
    { length: count },
    (_, index) => record(from + index, [`c${index}`], [`k${index}`, "v".repeat(index)]),
  );
}

/** What a test gets: the log and its files. */
interface Logged {
  readonly log: RedoLog;
  readonly store: string;
  /** The first of the files. */
  readonly path: string;
}

async function withLog(body: (logged: Logged) => void | Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_redo_" });
  const store = join(folder, "store");
  const log = createRedoLog(store, ID);
  try {
    await body({ log, store, path: redoPathsOf(store)[0] });
  } finally {
    log.close();
    await Deno.remove(folder, { recursive: true });
  }
}

/** Returns where each record ends. */
function appendAll(log: RedoLog, all: readonly RedoRecord[]): number[] {
  return all.map((one) => {
    log.append(one);
    return log.bytes;
  });
}

/** What another process reads if the first file has these bytes. */
async function readBytes(content: Uint8Array, after: number): Promise<RedoRecord[]> {
  let found: RedoRecord[] = [];
  await withLog(({ store, path }) => {
    Deno.writeFileSync(path, content);
    found = read(store, after);
  });
  return found;
}

function read(store: string, after: number): RedoRecord[] {
  return readRedoLog(store, ID, after)
    .map(({ version, cleared, pairs }) => ({ version, cleared, pairs }));
}

Deno.test("a file and its records are laid out as Python's struct and zlib lay them out", async () => {
  await withLog(({ log, store, path }) => {
    for (const each of redoPathsOf(store)) {
      assert.equal(Deno.readFileSync(each).toHex(), GOLDEN_HEAD);
    }
    log.append(GOLDEN_RECORD);
    assert.equal(Deno.readFileSync(path).toHex(), GOLDEN_HEAD + GOLDEN);
    assert.equal(log.bytes, GOLDEN.length / 2);
  });
});

Deno.test("what was appended after a version comes back, whatever is in it", async () => {
  const part = fc.uint8Array({ maxLength: 300 }) as fc.Arbitrary<Bytes>;
  // Each commit has something: a record without content is a note.
  const contents = fc.array(fc.record({
    cleared: fc.array(part, { maxLength: 5 }),
    pairs: fc.array(fc.tuple(part, part), { minLength: 1, maxLength: 5 }).map((pairs) =>
      pairs.flat()
    ),
  }));
  await withLog(({ log, store }) => {
    fc.assert(fc.property(contents, fc.nat(50), (parts, first) => {
      const all = parts.map((one, index) => ({ version: first + 1 + index, ...one }));
      log.empty();
      for (const one of all) log.append(one);
      for (let seen = 0; seen <= all.length; seen++) {
        assert.deepEqual(read(store, first + seen), all.slice(seen));
      }
    }));
  });
});

Deno.test("a value far larger than the buffer comes back", async () => {
  await withLog(({ log, store }) => {
    const value = crypto.getRandomValues(new Uint8Array(60_000));
    const all = { version: 1, cleared: [], pairs: Array(100).fill([bytes("k"), value]).flat() };
    log.append(all);
    assert.deepEqual(read(store, 0), [all]);
  });
});

Deno.test("of a log that ends anywhere the records before that end come back", async () => {
  const all = records(1, 4);
  await withLog(async ({ log, path }) => {
    const ends = appendAll(log, all).map((end) => HEAD_BYTES + end);
    const whole = Deno.readFileSync(path);
    for (let length = HEAD_BYTES; length <= whole.length; length++) {
      const count = ends.filter((end) => end <= length).length;
      assert.deepEqual(await readBytes(whole.slice(0, length), 0), all.slice(0, count));
      const zeros = new Uint8Array(whole.length);
      zeros.set(whole.subarray(0, length));
      // What a torn record lacks may be zeros; then it is whole.
      const found = await readBytes(zeros, 0);
      assert.deepEqual(found, all.slice(0, found.length));
      assert.ok(found.length >= count);
    }
  });
});

Deno.test("each flipped byte of the newest record costs that one; of any other place the log is refused", async () => {
  const all = records(1, 3);
  await withLog(async ({ log, path }) => {
    const [, second] = appendAll(log, all).map((end) => HEAD_BYTES + end);
    const whole = Deno.readFileSync(path);
    for (let at = 0; at < whole.length; at++) {
      const flipped = whole.slice();
      flipped[at]! ^= 0x41;
      if (at >= second!) {
        assert.deepEqual(await readBytes(flipped, 0), all.slice(0, 2), `byte ${at}`);
      } else {
        const why = at < HEAD_BYTES ? /is not its redo log/ : /lacks commit [12] and goes on with/;
        await assert.rejects(readBytes(flipped, 0), why, `byte ${at}`);
      }
    }
  });
});

Deno.test("damage is told also where the record behind it is in the other file", async () => {
  await withLog(({ log, store, path }) => {
    const [first, second, third] = records(1, 3);
    log.append(first!);
    log.append(second!);
    log.turn();
    log.append(third!);
    const bytes = Deno.readFileSync(path);
    bytes[bytes.length - 1]! ^= 1;
    Deno.writeFileSync(path, bytes);
    assert.throws(() => read(store, 0), (error: Error) => {
      assert.match(error.message, /lacks commit 2 and goes on with 3/);
      assert.match(error.message, /Restore the store with all files that begin with its name/);
      return error.message.includes(path);
    });
    assert.deepEqual(read(store, 2), [third], "what the store has need not be in the log");
  });
});

Deno.test("a log without one of its files, or with one of another log, is refused", async () => {
  for (const index of [0, 1]) {
    await withLog(({ log, store }) => {
      log.append(GOLDEN_RECORD);
      assert.throws(() => readRedoLog(store, OTHER_ID, 0), /is not its redo log/);
      const path = redoPathsOf(store)[index]!;
      Deno.removeSync(path);
      assert.throws(() => read(store, 0), (error: Error) => {
        assert.match(error.message, /is missing: the newest commits would be lost/);
        return error.message.includes(path);
      });
    });
  }
});

Deno.test("a stored value that holds a record of another log is not taken for one", async () => {
  // The newest record is torn, and one of its values contains a whole record of another log.
  const inner = record(2, [], ["forged", "forged"]);
  const forged = new Uint8Array(recordBytes(inner));
  encodeRedoRecord(inner, seedOf(OTHER_ID), forged, forged.length);
  // An attacker may guess the first bytes of the id, but not what the checksums start from.
  forged.set(ID.subarray(0, 4));
  await withLog(async ({ log, path }) => {
    log.append(record(1, [], ["k", "v"]));
    log.append({ version: 2, cleared: [], pairs: [bytes("k"), forged, bytes("l"), bytes("v")] });
    const torn = Deno.readFileSync(path).slice(0, -1);
    assert.deepEqual(await readBytes(torn, 0), [record(1, [], ["k", "v"])]);
  });
});

Deno.test("restart() writes over what was: behind newer records older ones do not count", async () => {
  await withLog(({ log, store }) => {
    for (const one of records(1, 20)) log.append(one);
    log.restart();
    assert.equal(log.bytes, 0);
    assert.deepEqual(read(store, 20), [], "all of it is in the store");
    const newer = records(21, 20);
    for (const [index, one] of newer.entries()) {
      log.append(one);
      assert.deepEqual(read(store, 20), newer.slice(0, index + 1));
    }
  });
});

Deno.test("takeBack() leaves nothing of the last record, and the next one has its place", async () => {
  await withLog(({ log, store, path }) => {
    const [first, second, third] = records(1, 3);
    log.append(first!);
    const { bytes: before } = log;
    log.append(second!);
    log.takeBack();
    assert.equal(Deno.statSync(path).size, HEAD_BYTES + before);
    assert.deepEqual(read(store, 0), [first]);
    const instead = { ...third!, version: 2 };
    log.append(instead);
    assert.deepEqual(read(store, 0), [first, instead]);
    assert.equal(Deno.statSync(path).size, HEAD_BYTES + before + recordBytes(instead));
  });
});

Deno.test("turn() goes on in the other file, and what was appended to both comes back in order", async () => {
  await withLog(({ log, store }) => {
    const all = records(1, 9);
    for (const [index, one] of all.entries()) {
      if (index % 3 === 2) {
        log.turn();
        assert.equal(log.bytes, 0);
        assert.ok(!log.isOtherFree);
        log.release(log.turns);
      }
      assert.ok(log.isOtherFree);
      log.append(one);
      const from = Math.max(0, Math.floor((index - 2) / 3) * 3 + 2 - 3);
      assert.deepEqual(read(store, from), all.slice(from, index + 1));
    }
  });
});

Deno.test("the file that is to be synced is the one that was written", async () => {
  await withLog(({ log, store }) => {
    const paths = redoPathsOf(store);
    for (let index = 0; index < 4; index++) {
      const size = Deno.statSync(paths[index % 2]!).size;
      log.append(record(index + 1, [], ["k", "v".repeat(10 * (index + 1))]));
      assert.ok(Deno.statSync(paths[index % 2]!).size > size);
      assert.equal(log.file.statSync().ino, Deno.statSync(paths[index % 2]!).ino);
      log.turn();
    }
  });
});

Deno.test("the other file is free when the disk has what was in the store at the last turn, not at one before", async () => {
  await withLog(({ log }) => {
    log.turn();
    const { turns } = log;
    log.restart();
    assert.ok(log.isOtherFree);
    log.turn();
    log.release(turns);
    assert.ok(!log.isOtherFree);
    log.release(log.turns);
    assert.ok(log.isOtherFree);
    // Syncs may end in another order than they began.
    log.release(turns);
    assert.ok(log.isOtherFree);
    log.turn();
    log.empty();
    assert.ok(log.isOtherFree);
  });
});

Deno.test("a log that goes on later than the store ends is refused, and says what to do", async () => {
  await withLog(({ log, store, path }) => {
    for (const one of records(12, 2)) log.append(one);
    assert.throws(() => read(store, 10), (error: Error) => {
      assert.match(error.message, /has commits up to 10/);
      assert.match(error.message, /goes on with 12/);
      assert.match(error.message, /Restore the store/);
      return error.message.includes(path);
    });
    assert.equal(read(store, 11).length, 2);
  });
});

Deno.test("empty() leaves no byte of what was written, and the file is its owner's alone", async () => {
  await withLog(({ log, store, path }) => {
    log.append(GOLDEN_RECORD);
    log.turn();
    log.append(GOLDEN_RECORD);
    log.turn();
    log.empty();
    for (const each of redoPathsOf(store)) {
      assert.equal(Deno.readFileSync(each).toHex(), GOLDEN_HEAD);
      assert.equal(Deno.statSync(each).mode! & 0o777, 0o600);
    }
    log.append(GOLDEN_RECORD);
    assert.equal(Deno.readFileSync(path).toHex(), GOLDEN_HEAD + GOLDEN);
  });
});

Deno.test("createRedoLog() leaves nothing of a log that was there, and removeRedoLog() no file", async () => {
  await withLog(({ log, store }) => {
    log.append(GOLDEN_RECORD);
    createRedoLog(store, OTHER_ID).close();
    assert.deepEqual(readRedoLog(store, OTHER_ID, 0), []);
    for (const each of redoPathsOf(store)) assert.equal(Deno.statSync(each).size, HEAD_BYTES);
    removeRedoLog(store);
    removeRedoLog(store);
    for (const each of redoPathsOf(store)) {
      assert.throws(() => Deno.statSync(each), Deno.errors.NotFound);
    }
  });
});

Deno.test("after a write that failed half-way the next record takes its place", async () => {
  await withLog(({ log, store, path }) => {
    const [first, second, third] = records(1, 3);
    log.append(first!);
    const { bytes: before } = log;
    const whole = Deno.FsFile.prototype.writeSync;
    Deno.FsFile.prototype.writeSync = function (bytes: Uint8Array): number {
      whole.call(this, bytes.subarray(0, bytes.length / 2));
      throw new Error("No space left on device");
    };
    try {
      assert.throws(() => log.append(second!), /No space left/);
    } finally {
      Deno.FsFile.prototype.writeSync = whole;
    }
    assert.deepEqual(read(store, 0), [first]);
    const instead = { ...third!, version: 2 };
    log.append(instead);
    assert.deepEqual(read(store, 0), [first, instead]);
    // No byte of the torn record precedes it, because offsets are counted without that record.
    const content = Deno.readFileSync(path).subarray(HEAD_BYTES + before);
    assert.equal(content.length, recordBytes(instead));
    assert.equal(content.subarray(12, 20).toHex(), "0200000000000000", "its version");
  });
});
