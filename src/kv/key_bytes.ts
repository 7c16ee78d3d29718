/**
 * Compares, orders and hashes keys by their bytes. As text, each key would become a string that
 * is new to the runtime, and a Map looks such a string up in a table of all existing strings
 * before it looks into itself. Hashing the bytes here is many times cheaper. Text remains in use
 * where it is rare: ends of ranges, conflicts, watches.
 */

import type { TextRange } from "./byte_text.ts";
import { type Bytes, kvLimits } from "./engine.ts";
import { viewOf } from "./slab.ts";

/** Something that can be found by its key. The hash is computed once and travels with the key. */
export interface Keyed {
  readonly key: Bytes;
  /** The result of {@link hashOf} for the key. */
  readonly hash: number;
}

/** Few enough bits for a small integer of the runtime, which needs no allocation. */
export const HASH_BITS = 30;

/**
 * A factor for each position in a key, and for its length. Clients choose parts of keys (ids of
 * streams, idempotency keys), and could choose many keys with one hash if they knew these
 * factors. So a process draws them when it opens its engine: any two keys then share a hash with
 * a probability of less than 1 in 10,000,000. A process that opens no engine (tests, tools) has
 * the same factors each time.
 */
const factors = new Int32Array(kvLimits.keyBytesMax + 1);
let isDrawn = false;
for (let i = 0, state = 1; i < factors.length; i++) {
  state = Math.imul(state, 0x915f77f5) + 1;
  factors[i] = state ^ (state >>> 15);
}

/** Draws the factors, once per process: a key that has a hash already must be found by it later. */
export function drawKeyHash(randomBytes: (length: number) => Bytes): void {
  if (isDrawn) return;
  isDrawn = true;
  const random = viewOf(randomBytes(factors.byteLength));
  for (let i = 0; i < factors.length; i++) factors[i] = random.getInt32(4 * i);
}

/** Each position has its own factor, so no product waits for another. */
export function hashOf(key: Bytes): number {
  const { length } = key;
  let sum = factors[length]!;
  for (let i = 0; i < length; i++) sum = (sum + Math.imul(factors[i]!, key[i]!)) | 0;
  // The low bits are weaker: factors that differ only in high bits leave them equal.
  return sum >>> (32 - HASH_BITS);
}

export function isSameKey(a: Bytes, b: Bytes): boolean {
  if (a === b) return true;
  const { length } = a;
  if (length !== b.length) return false;
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** Negative, 0 or positive, as `a` sorts before, the same as or after `b`. */
export function compareKeys(a: Bytes, b: Bytes): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const difference = a[i]! - b[i]!;
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Like {@link compareKeys}, with the right key as text. */
export function compareWithText(key: Bytes, text: string): number {
  const length = Math.min(key.length, text.length);
  for (let i = 0; i < length; i++) {
    const difference = key[i]! - text.charCodeAt(i);
    if (difference !== 0) return difference;
  }
  return key.length - text.length;
}

export function isWithin(key: Bytes, { begin, end }: TextRange): boolean {
  return compareWithText(key, begin) >= 0 && compareWithText(key, end) < 0;
}
