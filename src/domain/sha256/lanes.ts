/**
 * SHA-256 of four messages side by side, as WebAssembly code.
 *
 * Each instruction works on one word of every message, so four messages take about as long as
 * one and a half. The messages may differ in length.
 */

import {
  BLOCK_BYTES,
  INITIAL,
  K,
  ROUND_LOCALS,
  roundsCode,
  SCHEDULE_WORDS,
  variableLocal,
  VARIABLES,
  wordLocal,
  type Words,
} from "./rounds.ts";
import {
  type Code,
  constant,
  get,
  joined,
  lanes,
  loaded,
  NO_RESULT,
  op,
  set,
  shuffled,
  stored,
  V128,
} from "./code.ts";

const WORD_BYTES = 4;
export const LANES = 4;
export const DIGEST_BYTES = 32;
/** Distance between the starts of two messages, which leaves 3,127 bytes for each message. */
export const LANE_BYTES = 49 * BLOCK_BYTES;

/**
 * The four digests, one after another. While hashing, this memory holds the intermediate
 * hashes, word by word.
 */
export const LANES_OFFSET = BLOCK_BYTES;
/** The constants K in the memory's byte order. */
export const K_OFFSET = LANES_OFFSET + LANES * DIGEST_BYTES;
/** The end of each message relative to its lane, as an address in the first lane; 32 bits each. */
export const ENDS_OFFSET = K_OFFSET + WORD_BYTES * K.length;
/** The end of the memory that this code uses. */
export const LANES_END = ENDS_OFFSET + BLOCK_BYTES;

const VECTOR_BYTES = 16;
const WORDS_PER_VECTOR = 4;

/**
 * The two parameters: where the first message begins, and where the longest one would end in
 * the first lane.
 */
const BEGIN = 0;
const END = 1;
const FIRST_LOCAL = 2;
/** All bits set in the lanes whose message is not over. */
const IS_ON = FIRST_LOCAL + ROUND_LOCALS;

const words: Words = {
  firstLocal: FIRST_LOCAL,
  add: lanes.add,
  and: lanes.and,
  or: lanes.or,
  xor: lanes.xor,
  rotatedRight(local, bits) {
    const left = [...get(local), ...constant(32 - bits), ...lanes.shiftLeft];
    return joined(lanes.or, words.shiftedRight(local, bits), left);
  },
  shiftedRight: (local, bits) => [...get(local), ...constant(bits), ...lanes.shiftRight],
  constantOf: (round) => loaded(lanes.loadSplat, constant(0), K_OFFSET + WORD_BYTES * round),
};

const VARIABLE_LOCALS = Array.from(
  { length: VARIABLES },
  (_, index) => variableLocal(words, index),
);
const WORD_LOCALS = Array.from({ length: SCHEDULE_WORDS }, (_, index) => wordLocal(words, index));

export const lanesLocals: Code = [ROUND_LOCALS + 1, V128];

export function lanesCode(): Code {
  return [
    ...VARIABLE_LOCALS.flatMap((_, index) =>
      storeHash(index, [...constant(INITIAL[index]!), ...lanes.splat])
    ),
    ...[...op.loop, NO_RESULT],
    ...readWords(),
    ...loadHashes(),
    ...roundsCode(words),
    ...set(IS_ON, isOn()),
    ...VARIABLE_LOCALS.flatMap((local, index) => {
      const next = joined(lanes.add, get(local), loadHash(index));
      return storeHash(index, [...next, ...loadHash(index), ...get(IS_ON), ...lanes.select]);
    }),
    ...set(BEGIN, joined(op.add, get(BEGIN), constant(BLOCK_BYTES))),
    ...[...joined(op.isBelow, get(BEGIN), get(END)), ...op.branchIf, 0],
    ...op.end,
    ...loadHashes(),
    ...storeDigests(),
  ];
}

function isOn(): Code {
  const begin = [...get(BEGIN), ...lanes.splat];
  return joined(lanes.isAbove, loaded(lanes.load, constant(0), ENDS_OFFSET), begin);
}

/**
 * Loads four words of every message at a time, then transposes them so that each vector holds
 * one word of all messages.
 */
function readWords(): Code {
  const code: number[] = [];
  for (let first = 0; first < SCHEDULE_WORDS; first += WORDS_PER_VECTOR) {
    const rows = WORD_LOCALS.slice(first, first + WORDS_PER_VECTOR);
    for (const [lane, row] of rows.entries()) {
      const offset = LANE_BYTES * lane + WORD_BYTES * first;
      code.push(...set(row, loaded(lanes.load, get(BEGIN), offset)), ...set(row, swapped(row)));
    }
    code.push(...transposed(rows, VARIABLE_LOCALS));
  }
  return code;
}

function storeDigests(): Code {
  const code: number[] = [];
  for (let first = 0; first < VARIABLES; first += WORDS_PER_VECTOR) {
    const rows = VARIABLE_LOCALS.slice(first, first + WORDS_PER_VECTOR);
    code.push(...transposed(rows, WORD_LOCALS));
    for (const [lane, row] of rows.entries()) {
      const offset = LANES_OFFSET + WORD_BYTES * (VARIABLES * lane + first);
      code.push(...stored(lanes.store, constant(0), offset, swapped(row)));
    }
  }
  return code;
}

/** Transposes four vectors of four words, using four other locals. */
function transposed(rows: readonly number[], free: readonly number[]): Code {
  const [a, b, c, d] = rows as [number, number, number, number];
  const [lowAb, highAb, lowCd, highCd] = free as [number, number, number, number];
  return [
    ...set(lowAb, wordsOf(a, b, [0, 4, 1, 5])),
    ...set(highAb, wordsOf(a, b, [2, 6, 3, 7])),
    ...set(lowCd, wordsOf(c, d, [0, 4, 1, 5])),
    ...set(highCd, wordsOf(c, d, [2, 6, 3, 7])),
    ...set(a, wordsOf(lowAb, lowCd, [0, 1, 4, 5])),
    ...set(b, wordsOf(lowAb, lowCd, [2, 3, 6, 7])),
    ...set(c, wordsOf(highAb, highCd, [0, 1, 4, 5])),
    ...set(d, wordsOf(highAb, highCd, [2, 3, 6, 7])),
  ];
}

/** Picks four of the eight words in two locals. */
function wordsOf(left: number, right: number, picked: readonly number[]): Code {
  const places = picked.flatMap((word) => [0, 1, 2, 3].map((byte) => WORD_BYTES * word + byte));
  return shuffled(get(left), get(right), places);
}

/** Swaps byte order: messages have big-endian words, WebAssembly memory is little-endian. */
function swapped(local: number): Code {
  const places = Array.from({ length: VECTOR_BYTES }, (_, byte) => byte ^ 3);
  return shuffled(get(local), get(local), places);
}

function loadHashes(): Code {
  return VARIABLE_LOCALS.flatMap((local, index) => set(local, loadHash(index)));
}

function loadHash(index: number): Code {
  return loaded(lanes.load, constant(0), LANES_OFFSET + VECTOR_BYTES * index);
}

function storeHash(index: number, value: Code): Code {
  return stored(lanes.store, constant(0), LANES_OFFSET + VECTOR_BYTES * index, value);
}
