/** Pieces of slabs behave like separate arrays: zeroed, and shared with nobody. */

import assert from "node:assert/strict";
import { bytesOfHex, newBytes, PIECE_BYTES_MAX, utf8Of } from "../../src/kv/slab.ts";

const SIZES = [0, 1, 8, 50, 300, 4_000, PIECE_BYTES_MAX, PIECE_BYTES_MAX + 1, 100_000];

Deno.test("new bytes are zeros, of the length asked for, whatever was cut before", () => {
  for (let round = 0; round < 100; round++) {
    for (const size of SIZES) {
      const bytes = newBytes(size);
      assert.equal(bytes.length, size);
      assert(bytes.every((byte) => byte === 0));
      bytes.fill(0xff);
    }
  }
});

Deno.test("no piece shares a byte with another one, nor does text", () => {
  const pieces = Array.from({ length: 5_000 }, (_, number) => {
    const isText = number % 3 === 0;
    return isText ? utf8Of(String(number).padStart(9, "0")) : newBytes(number % 300);
  });
  for (const [number, piece] of pieces.entries()) piece.fill(number % 256);
  for (const [number, piece] of pieces.entries()) {
    assert(piece.every((byte) => byte === number % 256));
  }
});

Deno.test("text becomes the UTF-8 that TextEncoder makes of it, however long it is", () => {
  const encoder = new TextEncoder();
  const texts = ["", "order", "naïve", "日本語", "🚚", "\ud800", "a\0b"];
  for (const text of texts) {
    for (const times of [1, 7, 455, 456, 1_365, 1_366, 20_000]) {
      const long = text.repeat(times);
      assert.deepEqual(utf8Of(long), encoder.encode(long));
    }
  }
});

Deno.test("hexadecimal digits become their bytes", () => {
  const digits = "00ff10a5".repeat(8);
  assert.deepEqual(bytesOfHex(digits), Uint8Array.fromHex(digits));
  assert.throws(() => bytesOfHex("zz"), SyntaxError);
});
