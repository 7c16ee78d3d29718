/** Numbers and names of the binary format, as the core specification defines them. */

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  type ByteReader,
  encodeU32,
  MalformedModuleError,
  readName,
  readU32,
  skipSigned,
} from "../../../src/domain/wasm/byte_reader.ts";

function readerOf(bytes: readonly number[]): ByteReader {
  return { bytes: Uint8Array.from(bytes), at: 0, end: bytes.length };
}

Deno.test("readU32() reads what encodeU32() wrote, in as few bytes as there are groups of 7 bits", () => {
  fc.assert(fc.property(fc.integer({ min: 0, max: 2 ** 32 - 1 }), (value) => {
    const bytes = encodeU32(value);
    const reader = readerOf(bytes);
    assert.equal(readU32(reader), value);
    assert.equal(reader.at, bytes.length);
    assert.equal(bytes.length, Math.max(1, Math.ceil(value.toString(2).length / 7)));
  }));
});

const NUMBERS: readonly (readonly [bytes: readonly number[], value: number | undefined])[] = [
  [[0xe5, 0x8e, 0x26], 624_485],
  [[0x80, 0x80, 0x80, 0x80, 0x00], 0],
  [[0xff, 0xff, 0xff, 0xff, 0x0f], 4_294_967_295],
  [[0xff, 0xff, 0xff, 0xff, 0x1f], undefined],
  [[0x80, 0x80, 0x80, 0x80, 0x80, 0x00], undefined],
  [[0x80], undefined],
  [[], undefined],
];
for (const [bytes, value] of NUMBERS) {
  Deno.test(`readU32() reads [${bytes}] as ${value ?? "malformed"}`, () => {
    if (value === undefined) assert.throws(() => readU32(readerOf(bytes)), MalformedModuleError);
    else assert.equal(readU32(readerOf(bytes)), value);
  });
}

Deno.test("skipSigned() passes over as many bytes as the type may have, and no more", () => {
  const long = (bytes: number) => readerOf([...Array(bytes - 1).fill(0xff), 0x7f]);
  for (const [bits, bytesMax] of [[32, 5], [33, 5], [64, 10]] as const) {
    const reader = long(bytesMax);
    skipSigned(reader, bits);
    assert.equal(reader.at, bytesMax);
    assert.throws(() => skipSigned(long(bytesMax + 1), bits), MalformedModuleError);
  }
});

Deno.test("readName() reads UTF-8 within its length, and refuses anything else", () => {
  assert.equal(readName(readerOf([3, 0x61, 0xc3, 0xa9, 0x62])), "aé");
  assert.throws(() => readName(readerOf([2, 0x61, 0xc3])), MalformedModuleError);
  assert.throws(() => readName(readerOf([4, 0x61, 0x62])), MalformedModuleError);
});
