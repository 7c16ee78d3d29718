/**
 * Ranges of an SQLite file match a sorted list, however long they and their rows are. The checksum
 * of a row tells each change of its bytes.
 */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { bytesOf, textOf } from "../../../src/kv/byte_text.ts";
import type { RangeOptions } from "../../../src/kv/engine.ts";
import { STORE_TABLES } from "../../../src/kv/sqlite/check_file.ts";
import { preparePairs, rowChecksum, type StoredPairs } from "../../../src/kv/sqlite/pairs.ts";

type Pair = readonly [key: string, value: string];
type ScanOptions = Required<RangeOptions>;

const byte = fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code));
const key = fc.string({ unit: byte, minLength: 1, maxLength: 12 });
/** Shorter and longer than what is fetched as one array; includes zero bytes and commas. */
const value = fc.oneof(
  fc.string({ unit: byte, maxLength: 40 }),
  fc.string({ unit: fc.constantFrom(",", "\0", "1"), maxLength: 9 }),
  fc.tuple(byte, fc.integer({ min: 1_500, max: 5_000 })).map(([one, times]) => one.repeat(times)),
);

function withPairs(pairs: readonly Pair[], body: (stored: StoredPairs) => void): void {
  const db = new DatabaseSync(":memory:");
  try {
    for (const table of STORE_TABLES) db.exec(`CREATE TABLE ${table}`);
    const insert = db.prepare("INSERT INTO kv VALUES (?, ?, 0)");
    for (const [k, v] of pairs) insert.run(bytesOf(k), bytesOf(v));
    body(preparePairs(db));
  } finally {
    db.close();
  }
}

function scan(stored: StoredPairs, begin: string, end: string, how: ScanOptions): Pair[] {
  const pairs = [...stored.scan({ begin, end }, how)];
  return pairs.map((pair): Pair => [textOf(pair.key), textOf(pair.value)]);
}

const options: fc.Arbitrary<ScanOptions> = fc.record({
  reverse: fc.boolean(),
  limit: fc.oneof(fc.constant(Infinity), fc.integer({ min: 0, max: 200 })),
  bytesMax: fc.oneof(fc.constant(Infinity), fc.integer({ min: 0, max: 300_000 })),
  keysOnly: fc.boolean(),
});

Deno.test("a range has each pair once, in order, up to its limit, however many bytes were likely", () => {
  const map = fc.uniqueArray(fc.tuple(key, value), { selector: ([k]) => k, maxLength: 300 });
  fc.assert(fc.property(map, key, key, options, (pairs, one, other, how) => {
    const [begin, end] = one < other ? [one, other] : [other, one];
    const expected = pairs.filter(([k]) => k >= begin && k < end)
      .sort(([a], [b]) => (a < b ? -1 : 1) * (how.reverse ? -1 : 1));
    const some = expected.slice(0, how.limit);
    withPairs(pairs, (stored) => {
      assert.deepEqual(
        scan(stored, begin, end, how),
        how.keysOnly ? some.map(([k]) => [k, ""]) : some,
      );
    });
  }));
});

Deno.test("ranges of any length are whole where rows grow and shrink on the way", () => {
  for (const count of [0, 1, 15, 16, 17, 79, 80, 81, 144, 145, 1_000]) {
    const pairs = Array.from({ length: count }, (_, number): Pair => {
      const length = number % 200 < 100 ? number % 50 : 3_000;
      return [String(number).padStart(5, "0"), "v".repeat(length)];
    });
    withPairs(pairs, (stored) => {
      for (const bytesMax of [0, 10_000, Infinity]) {
        const how = { limit: Infinity, bytesMax, keysOnly: false };
        assert.deepEqual(scan(stored, "0", "9", { ...how, reverse: false }), pairs);
        assert.deepEqual(scan(stored, "0", "9", { ...how, reverse: true }), pairs.toReversed());
      }
    });
  }
});

Deno.test("rowChecksum() tells each flip of a byte in a key or a value", () => {
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 300 });
  fc.assert(fc.property(bytes, bytes, fc.integer({ min: 1, max: 255 }), (key, value, mask) => {
    const sum = rowChecksum(key, value);
    for (const part of [key, value]) {
      for (let at = 0; at < part.length; at++) {
        part[at]! ^= mask;
        assert.notEqual(rowChecksum(key, value), sum);
        part[at]! ^= mask;
      }
    }
  }));
});
