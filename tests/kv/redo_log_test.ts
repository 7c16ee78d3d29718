/** The redo log: what comes back of it after kills, power cuts and faults of the disk. */

import assert from "node:assert/strict";
import { join } from "node:path";
import fc from "fast-check";
import type { Bytes } from "../../src/kv/engine.ts";
import { openRedoLog, type RedoLog, redoPathsOf, type RedoRecord } from "../../src/kv/redo_log.ts";

/** Python: `<II` of the length behind the header and CRC-32, then `<Q`, `<I`, `<H`, `<HI` parts. */
const GOLDEN =
  "20000000402577b70700000002000000010000000400676f6e650100050000006b76616c75650400000000006b657932";
const GOLDEN_RECORD = record(2 ** 33 + 7, ["gone"], ["k", "value", "key2", ""]);

function bytes(text: string): Bytes {
  return new TextEncoder().encode(text);
}

function record(version: number, cleared: string[], pairs: string[]): RedoRecord {
  return { version, cleared: cleared.map(bytes), pairs: pairs.map(bytes) };
}

/** `count` records that follow each other. */
function records(from: number, count: number): RedoRecord[] {
  return Array.from(
    { length: count },
    (_, index) => record(from + index, [`c${index}`], [`k${index}`, "v".repeat(index)]),
  );
}

async function withLog(body: (log: RedoLog, path: string) => void | Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_redo_" });
  const store = join(folder, "store");
  const log = openRedoLog(store);
  try {
    await body(log, redoPathsOf(store)[0]);
  } finally {
    log.close(true);
    await Deno.remove(folder, { recursive: true });
  }
}

/** Gives where each ends. */
function appendAll(log: RedoLog, all: readonly RedoRecord[]): number[] {
  return all.map((one) => {
    log.append(one);
    return log.bytes;
  });
}

/** What another process finds in these bytes. */
async function readBytes(content: Uint8Array, after: number): Promise<RedoRecord[]> {
  let found: RedoRecord[] = [];
  await withLog((log, path) => {
    Deno.writeFileSync(path, content);
    found = plain(log.readAfter(after));
  });
  return found;
}

function plain(found: readonly RedoRecord[]): RedoRecord[] {
  return found.map(({ version, cleared, pairs }) => ({ version, cleared, pairs }));
}

Deno.test("a record is laid out as Python's struct and zlib lay it out", async () => {
  await withLog((log, path) => {
    log.append(GOLDEN_RECORD);
    assert.equal(Deno.readFileSync(path).toHex(), GOLDEN);
    assert.equal(log.bytes, GOLDEN.length / 2);
  });
});

Deno.test("what was appended after a version comes back, whatever is in it", async () => {
  const part = fc.uint8Array({ maxLength: 300 }) as fc.Arbitrary<Bytes>;
  const contents = fc.array(fc.record({
    cleared: fc.array(part, { maxLength: 5 }),
    pairs: fc.array(fc.tuple(part, part), { maxLength: 5 }).map((pairs) => pairs.flat()),
  }));
  await withLog((log) => {
    fc.assert(fc.property(contents, fc.nat(50), (parts, first) => {
      const all = parts.map((one, index) => ({ version: first + 1 + index, ...one }));
      log.empty();
      for (const one of all) log.append(one);
      for (let seen = 0; seen <= all.length; seen++) {
        assert.deepEqual(plain(log.readAfter(first + seen)), all.slice(seen));
      }
    }));
  });
});

Deno.test("a value far larger than the buffer comes back", async () => {
  await withLog((log) => {
    const value = crypto.getRandomValues(new Uint8Array(60_000));
    const all = { version: 1, cleared: [], pairs: Array(100).fill([bytes("k"), value]).flat() };
    log.append(all);
    assert.deepEqual(plain(log.readAfter(0)), [all]);
  });
});

Deno.test("of a log that ends anywhere the records before that end come back", async () => {
  const all = records(1, 4);
  await withLog(async (log, path) => {
    const ends = appendAll(log, all);
    const whole = Deno.readFileSync(path);
    for (let length = 0; length <= whole.length; length++) {
      const count = ends.filter((end) => end <= length).length;
      assert.deepEqual(await readBytes(whole.slice(0, length), 0), all.slice(0, count));
      const zeros = new Uint8Array(whole.length);
      zeros.set(whole.subarray(0, length));
      // What a torn record lacks may be zeros, and then be whole.
      const found = await readBytes(zeros, 0);
      assert.deepEqual(found, all.slice(0, found.length));
      assert.ok(found.length >= count);
    }
  });
});

Deno.test("each flipped byte costs its record and those behind it, and no other", async () => {
  const all = records(1, 3);
  await withLog(async (log, path) => {
    const ends = appendAll(log, all);
    const whole = Deno.readFileSync(path);
    for (let at = 0; at < whole.length; at++) {
      const flipped = whole.slice();
      flipped[at]! ^= 0x41;
      const before = ends.filter((end) => end <= at).length;
      assert.deepEqual(await readBytes(flipped, 0), all.slice(0, before), `byte ${at}`);
    }
  });
});

Deno.test("restart() writes over what was: behind newer records older ones do not count", async () => {
  await withLog((log) => {
    for (const one of records(1, 20)) log.append(one);
    log.restart();
    assert.equal(log.bytes, 0);
    assert.deepEqual(log.readAfter(20), [], "all of it is in the store");
    const newer = records(21, 20);
    for (const [index, one] of newer.entries()) {
      log.append(one);
      assert.deepEqual(plain(log.readAfter(20)), newer.slice(0, index + 1));
    }
  });
});

Deno.test("takeBack() leaves nothing of the last record, and the next one has its place", async () => {
  await withLog((log, path) => {
    const [first, second, third] = records(1, 3);
    log.append(first!);
    const { bytes: before } = log;
    log.append(second!);
    log.takeBack();
    assert.equal(Deno.statSync(path).size, before);
    assert.deepEqual(plain(log.readAfter(0)), [first]);
    const instead = { ...third!, version: 2 };
    log.append(instead);
    assert.deepEqual(plain(log.readAfter(0)), [first, instead]);
  });
});

Deno.test("turn() goes on in the other file, and what was appended to both comes back in order", async () => {
  await withLog((log) => {
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
      assert.deepEqual(plain(log.readAfter(from)), all.slice(from, index + 1));
    }
  });
});

Deno.test("the other file is free when the disk has what was in the store at the last turn, not at one before", async () => {
  await withLog((log) => {
    log.turn();
    const { turns } = log;
    log.restart();
    assert.ok(log.isOtherFree);
    log.turn();
    log.release(turns);
    assert.ok(!log.isOtherFree);
    log.release(log.turns);
    assert.ok(log.isOtherFree);
    log.turn();
    log.empty();
    assert.ok(log.isOtherFree);
  });
});

Deno.test("a log that goes on later than the store ends is refused, and says what to do", async () => {
  await withLog((log, path) => {
    for (const one of records(12, 2)) log.append(one);
    assert.throws(() => log.readAfter(10), (error: Error) => {
      assert.match(error.message, /commits up to 10/);
      assert.match(error.message, /go on with 12/);
      assert.match(error.message, /Restore them/);
      return error.message.includes(path);
    });
    assert.equal(log.readAfter(11).length, 2);
  });
});

Deno.test("empty() leaves no byte of it, and the file is its owner's alone", async () => {
  await withLog((log, path) => {
    log.append(GOLDEN_RECORD);
    log.empty();
    const { size, mode } = Deno.statSync(path);
    assert.equal(size, 0);
    assert.equal(mode! & 0o777, 0o600);
    log.append(GOLDEN_RECORD);
    assert.equal(Deno.readFileSync(path).toHex(), GOLDEN);
  });
});
