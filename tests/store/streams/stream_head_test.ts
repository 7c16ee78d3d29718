/** The head of a stream in its stored form. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { RECENT_VALUE_BYTES_MAX } from "../../../src/kv/sqlite/recent_values.ts";
import {
  decodeHead,
  EMPTY_HEAD,
  encodeHead,
  NO_TAIL,
  TAIL_BYTES_MAX,
  tailOf,
} from "../../../src/store/streams/stream_head.ts";

const HASH = "00".repeat(32);

Deno.test("decodeHead() and tailOf() give back all that encodeHead() was given", () => {
  const count = fc.nat(Number.MAX_SAFE_INTEGER);
  const hash = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => bytes.toHex());
  const place = fc.record({
    leaf: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    lat: fc.double({ noNaN: true }),
    lng: fc.double({ noNaN: true }),
  }, { noNullPrototype: true });
  const head = fc.record({
    length: count,
    bytes: count,
    createdAt: count,
    updatedAt: count,
    generation: fc.nat(2 ** 32 - 1),
    epoch: fc.nat(2 ** 32 - 1),
    tip: hash,
    peaks: fc.array(hash, { minLength: 53, maxLength: 53 }),
    place: fc.option(place, { nil: undefined }),
  }, { noNullPrototype: true }).map((drawn) => {
    // There are as many peaks as bits set in the length.
    const bits = drawn.length.toString(2).replaceAll("0", "").length;
    return { ...drawn, peaks: drawn.peaks.slice(0, bits) };
  });
  const tail = fc.uint8Array({ maxLength: 50 });
  fc.assert(fc.property(head, tail, (given, held) => {
    const stored = encodeHead(given, held);
    assert.deepEqual(decodeHead(stored), given);
    assert.deepEqual([...tailOf(stored, given)], [...held]);
  }));
});

Deno.test("decodeHead() of nothing is the empty head, which is never stored", () => {
  assert.deepEqual(decodeHead(undefined), EMPTY_HEAD);
  assert.equal(tailOf(undefined, EMPTY_HEAD), NO_TAIL);
  assert.throws(() => encodeHead(EMPTY_HEAD), { name: "Bug" });
});

Deno.test("decodeHead() refuses bytes that are no head", () => {
  const stored = encodeHead({ ...EMPTY_HEAD, length: 1, tip: HASH, peaks: [HASH] });
  assert.throws(() => decodeHead(stored.slice(1)), { name: "Bug" });
  const peakless = encodeHead({ ...EMPTY_HEAD, length: 1, tip: HASH });
  assert.throws(() => decodeHead(peakless), { name: "Bug" });
  const place = { leaf: 1n, lat: 2, lng: 3 };
  const placed = encodeHead({ ...EMPTY_HEAD, length: 1, tip: HASH, peaks: [HASH], place });
  assert.throws(() => decodeHead(placed.slice(0, -1)), { name: "Bug" });
  for (const format of [0, 1, 4, 5, 6, 255]) {
    assert.throws(() => decodeHead(Uint8Array.of(format, ...stored.slice(1))), { name: "Bug" });
  }
});

Deno.test("of a stream of up to 4,095 events the largest head is kept among the recent values", () => {
  const [length, place] = [4_095, { leaf: 1n, lat: 2, lng: 3 }];
  const peaks = Array(12).fill(HASH);
  const head = { ...EMPTY_HEAD, length, tip: HASH, peaks, place };
  const { length: bytes } = encodeHead(head, new Uint8Array(TAIL_BYTES_MAX));
  assert.ok(bytes <= RECENT_VALUE_BYTES_MAX, `${bytes} bytes`);
});

Deno.test("decodeHead() refuses a generation or an epoch with a bit flipped", () => {
  const head = { ...EMPTY_HEAD, length: 1, tip: HASH, peaks: [HASH], generation: 5, epoch: 9 };
  const stored = encodeHead(head);
  // Format and four doubles come first; then generation, epoch and their sum.
  for (let at = 33; at < 45; at++) {
    for (let bit = 0; bit < 8; bit++) {
      const flipped = Uint8Array.from(stored);
      flipped[at]! ^= 1 << bit;
      assert.throws(() => decodeHead(flipped), { name: "Bug" }, `byte ${at}, bit ${bit}`);
    }
  }
});
