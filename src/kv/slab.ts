/**
 * Allocates small byte arrays as pieces of large ones. An array with memory of its own costs the
 * runtime several times as much to create, and to collect, and a write needs dozens of arrays
 * for its keys and values.
 *
 * A piece keeps its whole slab in memory. So anything kept longer than its request, such as a
 * value in a cache, is copied first. Slabs are shared, so the `buffer` of a piece is not its
 * own: read and write numbers in it through {@link viewOf}. Measured in
 * docs/internals/optimisations.md.
 */

import type { Bytes } from "./engine.ts";

const SLAB_BYTES = 32 * 1024;
/** Larger arrays get memory of their own, so that little of a slab is left unused. */
export const PIECE_BYTES_MAX = 4 * 1024;
/** A UTF-16 code unit becomes at most this many bytes. */
const UTF8_BYTES_MAX = 3;

const encoder = new TextEncoder();
let slab = new ArrayBuffer(SLAB_BYTES);
let used = 0;

/** An array of `length` zeros. */
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

/** A view to read and write numbers in an array, wherever its memory begins. */
export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function startSlab(): void {
  slab = new ArrayBuffer(SLAB_BYTES);
  used = 0;
}
