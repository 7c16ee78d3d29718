/**
 * Keys as strings with one character per byte, to be Map keys and to be compared with `<`. Such
 * strings sort in the byte order of the keys. Used inside the engines only.
 */

import { Buffer } from "node:buffer";
import type { Bytes } from "./engine.ts";
import { newBytes } from "./slab.ts";

/** A half-open range of keys as text. */
export interface TextRange {
  readonly begin: string;
  readonly end: string;
}

const latin1Slice = (Buffer.prototype as unknown as {
  latin1Slice(this: Uint8Array, begin: number, end: number): string;
}).latin1Slice;

/** The text of a key, or of a part of it. */
export function textOf(bytes: Uint8Array, begin = 0, end = bytes.length): string {
  return latin1Slice.call(bytes, begin, end);
}

/** The key that a text stands for. */
export function bytesOf(text: string): Bytes {
  const bytes = newBytes(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** The text of the first key after this one. */
export function textAfter(text: string): string {
  return text + "\0";
}

/** Index of the first text that is not below `target`. */
export function lowerBound(sorted: readonly string[], target: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! < target) low = middle + 1;
    else high = middle;
  }
  return low;
}
