/**
 * Small arrays of bytes, cut from large ones. An array with memory of its own costs the runtime 350
 * to 600 ns, and its collector as much again; a piece of a slab costs 80 ns, and a write needs some
 * dozens of them for its keys and values.
 *
 * A piece keeps its whole slab in memory, so what is kept longer than its request, such as a value
 * in a cache, is copied first. And as slabs are shared, the `buffer` of such an array is not its
 * own: numbers in it are read and written through {@link viewOf}.
 */

import type { Bytes } from "./engine.ts";

const SLAB_BYTES = 32 * 1024;
/** What is larger has memory of its own, so that little of a slab is left unused. */
export const PIECE_BYTES_MAX = 4 * 1024;
/** A UTF-16 unit becomes at most so many bytes. */
const UTF8_BYTES_MAX = 3;

const encoder = new TextEncoder();
let slab = new ArrayBuffer(SLAB_BYTES);
let used = 0;

/** As many zeros. */
export function newBytes(length: number): Bytes {
  if (length > PIECE_BYTES_MAX) return new Uint8Array(length);
  if (used + length > SLAB_BYTES) startSlab();
  const piece = new Uint8Array(slab, used, length);
  used += length;
  return piece;
}

/** The UTF-8 of `text`; lone surrogates become U+FFFD. */
export function utf8Of(text: string): Bytes {
  const most = UTF8_BYTES_MAX * text.length;
  if (most > PIECE_BYTES_MAX) return encoder.encode(text);
  if (used + most > SLAB_BYTES) startSlab();
  const { written } = encoder.encodeInto(text, new Uint8Array(slab, used, most));
  return newBytes(written);
}

/** The bytes that hexadecimal digits stand for. @throws {SyntaxError} for other text. */
export function bytesOfHex(digits: string): Bytes {
  const bytes = newBytes(digits.length >> 1);
  bytes.setFromHex(digits);
  return bytes;
}

/** For the numbers in an array, wherever its memory begins. */
export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function startSlab(): void {
  slab = new ArrayBuffer(SLAB_BYTES);
  used = 0;
}
