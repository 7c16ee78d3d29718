/**
 * Hashes texts that clients choose, in a way that they cannot foresee.
 *
 * The runtime's own hash of a text can be computed by everybody: its function is known, and for
 * many texts its seed does not count. So a client can choose thousands of ids that fall into one
 * bucket of a `Map`, where each look-up compares all of them. This hash has secret factors, one
 * for each place in a text.
 */

/** Characters that are hashed together. A longer text is hashed block by block. */
const BLOCK_CHARACTERS = 256;
/** The two halves of the sum so far are hashed with the next block. */
const LOW = BLOCK_CHARACTERS;
const HIGH = BLOCK_CHARACTERS + 1;
const LENGTH = BLOCK_CHARACTERS + 2;

/** Few enough bits for a small integer of the runtime, which needs no allocation. */
export const TEXT_HASH_BITS = 30;

/** A process that draws none (tools, tests) has the same factors each time. */
const factors = new Int32Array(BLOCK_CHARACTERS + 3);
let isDrawn = false;
for (let i = 0, state = 1; i < factors.length; i++) {
  state = Math.imul(state, 0x915f77f5) + 1;
  factors[i] = state ^ (state >>> 15);
}

/** Draws the factors, once per process: a text that has a hash must be found by it later. */
export function drawTextHash(randomBytes: (length: number) => Uint8Array): void {
  if (isDrawn) return;
  isDrawn = true;
  const { buffer, byteOffset } = randomBytes(factors.byteLength);
  const random = new DataView(buffer, byteOffset);
  for (let i = 0; i < factors.length; i++) factors[i] = random.getInt32(4 * i);
}

/**
 * The hash of a text, of {@link TEXT_HASH_BITS}. Any two texts share its first 17 bits with a
 * probability of about 1 in 100,000, however they were chosen, and ordinary ones all of its bits
 * with one of 1 in 1,000,000,000.
 */
export function hashText(text: string): number {
  const { length } = text;
  let sum = Math.imul(factors[LENGTH]!, length);
  for (let from = 0; from < length; from += BLOCK_CHARACTERS) {
    const end = Math.min(length - from, BLOCK_CHARACTERS);
    if (from > 0) {
      sum = Math.imul(factors[LOW]!, sum & 0xffff) + Math.imul(factors[HIGH]!, sum >>> 16);
    }
    for (let i = 0; i < end; i++) {
      sum = (sum + Math.imul(factors[i]!, text.charCodeAt(from + i))) | 0;
    }
  }
  // The low bits are weaker: characters that differ only in high bits leave them equal.
  return sum >>> (32 - TEXT_HASH_BITS);
}
