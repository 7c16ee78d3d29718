/**
 * The 64 rounds of SHA-256 over one block, unrolled as WebAssembly code.
 *
 * The eight working variables and the schedule are in locals. Names follow FIPS 180-4.
 */

import { type Code, constant, get, joined, op, set } from "./code.ts";

/** Bytes that the rounds take from a message. */
export const BLOCK_BYTES = 64;
export const ROUNDS = 64;
export const SCHEDULE_WORDS = 16;
export const VARIABLES = 8;
/** The variables a to h, one temporary, and the schedule. */
export const ROUND_LOCALS = VARIABLES + 1 + SCHEDULE_WORDS;

/** The first of {@link ROUND_LOCALS} locals, behind the two parameters. */
const FIRST_LOCAL = 2;
/** Holds a value for a moment. */
export const TEMPORARY = FIRST_LOCAL + VARIABLES;

export const INITIAL: readonly number[] = [
  [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a],
  [0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19],
].flat();

const K: readonly number[] = [
  [0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5],
  [0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174],
  [0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da],
  [0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967],
  [0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85],
  [0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070],
  [0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3],
  [0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2],
].flat();

/** All rounds, over variables and a schedule that are already in their locals. */
export function roundsCode(): Code {
  return Array.from({ length: ROUNDS }, (_, round) => roundCode(round)).flat();
}

/** The local of one of the variables a to h, by its number. */
export function variableLocal(index: number): number {
  return FIRST_LOCAL + index;
}

/** The local of the schedule word that the round takes. */
export function wordLocal(round: number): number {
  return TEMPORARY + 1 + round % SCHEDULE_WORDS;
}

/**
 * The variables rotate through the locals from round to round, so that no value has to be
 * moved.
 */
function roundCode(round: number): Code {
  const [a, b, c, d, e, f, g, h] = Array.from(
    { length: VARIABLES },
    (_, index) => variableLocal((index + ROUNDS - round) % VARIABLES),
  ) as [number, number, number, number, number, number, number, number];
  const { add, and, or, xor } = op;
  const sum1 = joined(xor, rotatedRight(e, 6), rotatedRight(e, 11), rotatedRight(e, 25));
  const choice = joined(xor, get(g), joined(and, get(e), joined(xor, get(f), get(g))));
  const sum0 = joined(xor, rotatedRight(a, 2), rotatedRight(a, 13), rotatedRight(a, 22));
  const either = joined(and, get(c), joined(or, get(a), get(b)));
  const majority = joined(or, joined(and, get(a), get(b)), either);
  return [
    ...(round < SCHEDULE_WORDS ? [] : extendSchedule(round)),
    ...set(
      TEMPORARY,
      joined(add, get(h), sum1, choice, get(wordLocal(round)), constant(K[round]!)),
    ),
    ...set(d, joined(add, get(d), get(TEMPORARY))),
    ...set(h, joined(add, get(TEMPORARY), sum0, majority)),
  ];
}

function extendSchedule(round: number): Code {
  const { add, xor } = op;
  const [word15, word2] = [wordLocal(round - 15), wordLocal(round - 2)];
  const sigma0 = joined(
    xor,
    rotatedRight(word15, 7),
    rotatedRight(word15, 18),
    shiftedRight(word15, 3),
  );
  const sigma1 = joined(
    xor,
    rotatedRight(word2, 17),
    rotatedRight(word2, 19),
    shiftedRight(word2, 10),
  );
  const word = wordLocal(round);
  return set(word, joined(add, get(word), sigma0, get(wordLocal(round - 7)), sigma1));
}

function rotatedRight(local: number, bits: number): Code {
  return [...get(local), ...constant(bits), ...op.rotateRight];
}

function shiftedRight(local: number, bits: number): Code {
  return [...get(local), ...constant(bits), ...op.shiftRight];
}
