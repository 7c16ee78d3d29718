/** Hashes depend only on the bytes; keys sort like their texts. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { bytesOf, textOf } from "../../src/kv/byte_text.ts";
import { type Bytes, kvLimits } from "../../src/kv/engine.ts";
import {
  compareKeys,
  compareWithText,
  drawKeyHash,
  HASH_BITS,
  hashOf,
  isSameKey,
  isWithin,
} from "../../src/kv/key_map.ts";
import { newBytes } from "../../src/kv/slab.ts";

/** Short keys, which are often equal or a prefix of another, and some longer ones. */
const anyKey: fc.Arbitrary<Bytes> = fc.oneof(
  fc.array(fc.constantFrom(0, 1, 0x7f, 0x80, 0xff), { maxLength: 4 }),
  fc.array(fc.nat(255), { maxLength: 60 }),
).map((list) => Uint8Array.from(list));

/** The same bytes elsewhere: in a piece of a slab. */
function pieceOf(key: Bytes): Bytes {
  const piece = newBytes(key.length);
  piece.set(key);
  return piece;
}

Deno.test("a hash is a small integer, and the same wherever the bytes are", () => {
  fc.assert(fc.property(anyKey, (key) => {
    const hash = hashOf(key);
    assert(Number.isInteger(hash) && hash >= 0 && hash < 2 ** HASH_BITS);
    assert.equal(hashOf(pieceOf(key)), hash);
  }));
});

Deno.test("short keys have hashes of their own, and so have those that end in zeros", () => {
  const hashes = new Set<number>();
  let count = 0;
  function note(key: Bytes): void {
    hashes.add(hashOf(key));
    count++;
  }
  for (let a = 0; a < 256; a++) {
    note(Uint8Array.of(a));
    for (let b = 0; b < 256; b++) note(Uint8Array.of(a, b));
  }
  for (let length = 3; length <= kvLimits.keyBytesMax; length++) note(new Uint8Array(length));
  // By chance, 3 of this many would collide.
  assert(count - hashes.size < 20, `${count - hashes.size} are taken`);
});

Deno.test("the longest key has another hash for each byte that it may differ in", () => {
  const key = new Uint8Array(kvLimits.keyBytesMax).fill(7);
  const hash = hashOf(key);
  for (let at = 0; at < key.length; at++) {
    key[at] = 8;
    assert.notEqual(hashOf(key), hash, String(at));
    key[at] = 7;
  }
  assert.equal(hashOf(key), hash);
});

Deno.test("keys are the same and in order as their texts are", () => {
  fc.assert(
    fc.property(anyKey, anyKey, (one, other) => {
      const [a, b] = [textOf(one), textOf(other)];
      const order = a < b ? -1 : a > b ? 1 : 0;
      assert.equal(isSameKey(one, other), a === b);
      assert.equal(Math.sign(compareKeys(one, other)), order);
      assert.equal(Math.sign(compareWithText(one, b)), order);
      assert(isSameKey(one, pieceOf(one)) && isSameKey(one, one));
    }),
    { numRuns: 2000 },
  );
});

Deno.test("a range holds what is not before its begin and before its end", () => {
  fc.assert(
    fc.property(anyKey, anyKey, anyKey, (key, one, other) => {
      const [text, begin, end] = [textOf(key), textOf(one), textOf(other)];
      assert.equal(isWithin(key, { begin, end }), begin <= text && text < end);
    }),
    { numRuns: 2000 },
  );
});

Deno.test("what is drawn for the hash decides it, once for the process", () => {
  const key = bytesOf("a key");
  const before = hashOf(key);
  drawKeyHash((length) => new Uint8Array(length).fill(0x5a));
  const drawn = hashOf(key);
  assert.notEqual(drawn, before);
  drawKeyHash((length) => new Uint8Array(length).fill(0xa5));
  assert.equal(hashOf(key), drawn);
});
