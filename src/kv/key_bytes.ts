/**
 * Keys told apart and put in order by their bytes. As text each would become a string that is new
 * to the runtime, and a Map looks such a string up in a table of all strings there are before it
 * looks into itself: 0.3 to 0.8 us, where hashing 32 bytes here takes 25 ns. Texts are left for
 * what is rare: the ends of ranges, conflicts, watches.
 */

import type { TextRange } from "./byte_text.ts";
import { type Bytes, kvLimits } from "./engine.ts";
import { viewOf } from "./slab.ts";

/** What can be found by its key. The hash is made once and goes along with the key. */
export interface Keyed {
  readonly key: Bytes;
  /** What {@link hashOf} gives for the key. */
  readonly hash: number;
}

/** Few enough for a small integer of the runtime, which needs no memory of its own. */
export const HASH_BITS = 30;

/**
 * A factor for each place in a key, and for its end. Clients choose what is in keys (ids of
 * streams, keys of idempotency), and could choose many with one hash if they knew these. So a
 * process draws them when it opens its engine: two keys then share a hash with a probability of
 * less than 1 in 10,000,000, whatever they are. What opens none (tests, tools) has the same ones
 * each time.
 */
const factors = new Int32Array(kvLimits.keyBytesMax + 1);
let isDrawn = false;
for (let i = 0, state = 1; i < factors.length; i++) {
  state = Math.imul(state, 0x915f77f5) + 1;
  factors[i] = state ^ (state >>> 15);
}

/** Draws the factors, once for the process: what has a hash already must be found by it later. */
export function drawKeyHash(randomBytes: (length: number) => Bytes): void {
  if (isDrawn) return;
  isDrawn = true;
  const random = viewOf(randomBytes(factors.byteLength));
  for (let i = 0; i < factors.length; i++) factors[i] = random.getInt32(4 * i);
}

/** Each place has its own factor, so no product waits for another one. */
export function hashOf(key: Bytes): number {
  const { length } = key;
  let sum = factors[length]!;
  for (let i = 0; i < length; i++) sum = (sum + Math.imul(factors[i]!, key[i]!)) | 0;
  // The low bits are the weaker ones: factors that differ in high bits alone leave them equal.
  return sum >>> (32 - HASH_BITS);
}

export function isSameKey(a: Bytes, b: Bytes): boolean {
  if (a === b) return true;
  const { length } = a;
  if (length !== b.length) return false;
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** Negative, 0 or positive, as `a` is before, the same as or after `b`. */
export function compareKeys(a: Bytes, b: Bytes): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const difference = a[i]! - b[i]!;
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** As {@link compareKeys}, with a key as text on the right. */
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
