/** The tuple layer against `fdb-tuple`, the codec of the FoundationDB client, as the oracle. */

import { Buffer } from "node:buffer";
import assert from "node:assert/strict";
import fc from "fast-check";
import * as oracle from "fdb-tuple";
import { pack, rangeOf, type TupleElement, unpack } from "../../src/kv/tuple.ts";

const element: fc.Arbitrary<TupleElement> = fc.oneof(
  fc.string({ unit: "grapheme-ascii" }),
  fc.string({ unit: "binary" }),
  fc.string({ unit: fc.constantFrom("\0", "a", "\x7f", "\x80", "\xff", "\ud7ff", "\uffff", "😀") }),
  fc.maxSafeInteger(),
  fc.integer(),
  fc.integer({ min: -300, max: 300 }),
  fc.uint8Array({ maxLength: 20 }),
  fc.array(fc.constantFrom(0, 1, 0xfe, 0xff)).map((list) => Uint8Array.from(list)),
).filter((one) => typeof one !== "string" || one.isWellFormed());
const tuple = fc.array(element, { maxLength: 6 });

function packByOracle(elements: readonly TupleElement[]): Uint8Array {
  // The oracle accepts byte arrays only as Buffer, and encodes -0 as a float.
  const items = elements.map((one) => one instanceof Uint8Array ? Buffer.from(one) : one);
  return Uint8Array.from(oracle.pack(items) as Buffer);
}

function compareElements(a: TupleElement, b: TupleElement): number {
  const rank = (one: TupleElement) =>
    one instanceof Uint8Array ? 0 : typeof one === "string" ? 1 : 2;
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b);
  const [left, right] = [[...a as string], [...b as string]];
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const difference = left[i]!.codePointAt(0)! - right[i]!.codePointAt(0)!;
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

function compareTuples(a: readonly TupleElement[], b: readonly TupleElement[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const difference = compareElements(a[i]!, b[i]!);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

Deno.test("pack() gives the bytes of the FoundationDB tuple layer", () => {
  fc.assert(
    fc.property(tuple, (elements) => {
      assert.deepEqual(pack(elements), packByOracle(elements));
    }),
    { numRuns: 2000 },
  );
});

Deno.test("pack() agrees with the oracle around every power of 256, of either sign", () => {
  for (let power = 0; power < 7; power++) {
    for (let delta = -2; delta <= 2; delta++) {
      for (const sign of [-1, 1]) {
        const value = sign * (256 ** power + delta) || 0;
        if (!Number.isSafeInteger(value)) continue;
        assert.deepEqual(pack([value]), packByOracle([value]), String(value));
        assert.deepEqual(unpack(pack([value])), [value]);
      }
    }
  }
  for (const value of [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]) {
    assert.deepEqual(pack([value]), packByOracle([value]));
    assert.deepEqual(unpack(pack([value])), [value]);
  }
});

Deno.test("unpack() gives back what pack() took", () => {
  fc.assert(
    fc.property(tuple, (elements) => {
      assert.deepEqual(unpack(pack(elements)), elements.map((one) => Object.is(one, -0) ? 0 : one));
    }),
    { numRuns: 2000 },
  );
});

Deno.test("the order of packed bytes is the order of the elements", () => {
  fc.assert(
    fc.property(tuple, tuple, (a, b) => {
      assert.equal(Math.sign(Buffer.compare(pack(a), pack(b))), Math.sign(compareTuples(a, b)));
    }),
    { numRuns: 5000 },
  );
});

Deno.test("rangeOf() is the oracle's range and holds just the tuples that extend", () => {
  fc.assert(
    fc.property(tuple, tuple, (elements, other) => {
      const { begin, end } = rangeOf(elements);
      const prefix = packByOracle(elements);
      assert.deepEqual(begin, Uint8Array.of(...prefix, 0x00));
      assert.deepEqual(end, Uint8Array.of(...prefix, 0xff));
      for (const candidate of [other, [...elements, ...other], elements]) {
        const key = pack(candidate);
        const inside = Buffer.compare(key, begin) >= 0 && Buffer.compare(key, end) < 0;
        const extends_ = candidate.length > elements.length &&
          compareTuples(candidate.slice(0, elements.length), elements) === 0;
        assert.equal(inside, extends_);
      }
    }),
    { numRuns: 2000 },
  );
});

Deno.test("pack() takes tuples far beyond the size of its scratch array", () => {
  const elements = ["x".repeat(50_000), "ü".repeat(50_000), new Uint8Array(50_000), 7];
  assert.deepEqual(pack(elements), packByOracle(elements));
  assert.deepEqual(unpack(pack(elements)), elements);
});

Deno.test("what pack() returned does not change with the next call", () => {
  const first = pack(["first"]);
  const copy = first.slice();
  pack(["second", 1, 2, 3]);
  assert.deepEqual(first, copy);
});

Deno.test("pack() refuses what has no place in a key", () => {
  for (const value of [0.5, NaN, Infinity, 2 ** 53, -(2 ** 53)]) {
    assert.throws(() => pack([value]), RangeError);
  }
  assert.throws(() => pack(["\ud800"]), TypeError);
});

Deno.test("unpack() refuses bytes that are no packed tuple", () => {
  const malformed = [[0x02, 0x61], [0x01], [0x15], [0x16, 0x01], [0x00], [0xff], [0x1c, 1, 2], [
    0x21,
  ]];
  // 2^53 in seven bytes is not a safe integer.
  malformed.push([0x1b, 0x20, 0, 0, 0, 0, 0, 0], [0x02, 0x80, 0x00]);
  for (const bytes of malformed) {
    assert.throws(
      () => unpack(Uint8Array.from(bytes)),
      /Not a packed tuple|encoded data/,
      String(bytes),
    );
  }
});
