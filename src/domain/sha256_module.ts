/**
 * SHA-256 as a WebAssembly module, written out here instruction by instruction: all 64 rounds one
 * after the other, with the eight working variables and the schedule in locals. FIPS 180-4, whose
 * names it uses. For what it is good for, see `sha256.ts`.
 */

import { encodeSection, encodeU32 } from "./wasm/byte_reader.ts";

/** Bytes that a round of the function takes. */
export const BLOCK_BYTES = 64;
/** Where the module leaves the digest in its memory; inputs come behind it. */
export const DIGEST_OFFSET = 0;
/** One page: what a module's memory is made of. */
export const MEMORY_BYTES = 65_536;

export interface Sha256Module {
  readonly memory: WebAssembly.Memory;
  /** Hashes the padded message from `begin` up to `end`, whole blocks, into the digest. */
  readonly digest: (begin: number, end: number) => void;
}

/** Instructions in the order in which they run. */
type Code = readonly number[];

const op = {
  loop: 0x03,
  end: 0x0b,
  branchIf: 0x0d,
  getLocal: 0x20,
  setLocal: 0x21,
  load: 0x28,
  store: 0x36,
  constant: 0x41,
  isBelow: 0x49,
  add: 0x6a,
  and: 0x71,
  or: 0x72,
  xor: 0x73,
  shiftRight: 0x76,
  rotateLeft: 0x77,
  rotateRight: 0x78,
} as const;

const I32 = 0x7f;
const NO_RESULT = 0x40;
/** Alignment of a load or store: 2 to the power of this. */
const WORD_ALIGNMENT = 2;
const WORD_BYTES = 4;
const ROUNDS = 64;
const SCHEDULE_WORDS = 16;
const VARIABLES = 8;

/** Locals: the two parameters, then the variables a to h, one temporary, the schedule. */
const BEGIN = 0;
const END = 1;
const FIRST_VARIABLE = 2;
const TEMPORARY = FIRST_VARIABLE + VARIABLES;
const FIRST_WORD = TEMPORARY + 1;
const OWN_LOCALS = VARIABLES + 1 + SCHEDULE_WORDS;

const INITIAL = [
  [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a],
  [0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19],
].flat();

const K = [
  [0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5],
  [0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174],
  [0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da],
  [0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967],
  [0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85],
  [0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070],
  [0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3],
  [0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2],
].flat();

/** Translates the module; some milliseconds, once for a process. */
export function openSha256Module(): Sha256Module {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(moduleBytes()));
  return exports as unknown as Sha256Module;
}

function moduleBytes(): Uint8Array<ArrayBuffer> {
  const locals = vector([[...encodeU32(OWN_LOCALS), I32]]);
  const body = [...locals, ...digestCode(), op.end];
  return new Uint8Array([
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...encodeSection(1, vector([[0x60, 2, I32, I32, 0]])),
    ...encodeSection(3, vector([[0]])),
    ...encodeSection(5, vector([[0, 1]])),
    ...encodeSection(7, vector([[...name("memory"), 2, 0], [...name("digest"), 0, 0]])),
    ...encodeSection(10, vector([[...encodeU32(body.length), ...body]])),
  ]);
}

/** The hash so far is kept in the place of the digest, and turned into it at the end. */
function digestCode(): Code {
  const words = Array.from({ length: VARIABLES }, (_, index) => index);
  return [
    ...words.flatMap((index) => storeHash(index, constant(INITIAL[index]!))),
    ...[op.loop, NO_RESULT],
    ...words.flatMap((index) => set(FIRST_VARIABLE + index, loadHash(index))),
    ...Array.from({ length: ROUNDS }, (_, round) => roundCode(round)).flat(),
    ...words.flatMap((index) =>
      storeHash(index, add(get(FIRST_VARIABLE + index), loadHash(index)))
    ),
    ...set(BEGIN, add(get(BEGIN), constant(BLOCK_BYTES))),
    ...[...get(BEGIN), ...get(END), op.isBelow, op.branchIf, 0],
    op.end,
    ...words.flatMap((index) => [
      ...set(TEMPORARY, loadHash(index)),
      ...storeHash(index, swappedTemporary()),
    ]),
  ];
}

/** The variables change places from round to round, so that their values need not. */
function roundCode(round: number): Code {
  const [a, b, c, d, e, f, g, h] = Array.from(
    { length: VARIABLES },
    (_, index) => FIRST_VARIABLE + (index + ROUNDS - round) % VARIABLES,
  ) as [number, number, number, number, number, number, number, number];
  const word = wordLocal(round);
  const sum1 = xor(rotated(e, 6), rotated(e, 11), rotated(e, 25));
  const choice = xor(get(g), and(get(e), xor(get(f), get(g))));
  const sum0 = xor(rotated(a, 2), rotated(a, 13), rotated(a, 22));
  const majority = [...and(get(a), get(b)), ...and(get(c), [...get(a), ...get(b), op.or]), op.or];
  return [
    ...(round < SCHEDULE_WORDS ? readWord(round) : extendSchedule(round)),
    ...set(TEMPORARY, add(get(h), sum1, choice, get(word), constant(K[round]!))),
    ...set(d, add(get(d), get(TEMPORARY))),
    ...set(h, add(get(TEMPORARY), sum0, majority)),
  ];
}

function readWord(index: number): Code {
  const loaded = [...get(BEGIN), op.load, WORD_ALIGNMENT, ...encodeU32(WORD_BYTES * index)];
  return [...set(TEMPORARY, loaded), ...set(wordLocal(index), swappedTemporary())];
}

function extendSchedule(round: number): Code {
  const [word15, word2] = [wordLocal(round - 15), wordLocal(round - 2)];
  const sigma0 = xor(rotated(word15, 7), rotated(word15, 18), shifted(word15, 3));
  const sigma1 = xor(rotated(word2, 17), rotated(word2, 19), shifted(word2, 10));
  const word = wordLocal(round);
  return set(word, add(get(word), sigma0, get(wordLocal(round - 7)), sigma1));
}

/** The message is of big-endian words, WebAssembly's memory of little-endian ones. */
function swappedTemporary(): Code {
  const outer = [...get(TEMPORARY), ...constant(8), op.rotateLeft];
  const inner = [...get(TEMPORARY), ...constant(24), op.rotateLeft];
  return [...and(outer, constant(0x00ff00ff)), ...and(inner, constant(0xff00ff00)), op.or];
}

function wordLocal(round: number): number {
  return FIRST_WORD + round % SCHEDULE_WORDS;
}

function loadHash(index: number): Code {
  const offset = encodeU32(DIGEST_OFFSET + WORD_BYTES * index);
  return [...constant(0), op.load, WORD_ALIGNMENT, ...offset];
}

function storeHash(index: number, value: Code): Code {
  const offset = encodeU32(DIGEST_OFFSET + WORD_BYTES * index);
  return [...constant(0), ...value, op.store, WORD_ALIGNMENT, ...offset];
}

function get(local: number): Code {
  return [op.getLocal, ...encodeU32(local)];
}

function set(local: number, value: Code): Code {
  return [...value, op.setLocal, ...encodeU32(local)];
}

function constant(value: number): Code {
  return [op.constant, ...signed(value | 0)];
}

function rotated(local: number, bits: number): Code {
  return [...get(local), ...constant(bits), op.rotateRight];
}

function shifted(local: number, bits: number): Code {
  return [...get(local), ...constant(bits), op.shiftRight];
}

function and(left: Code, right: Code): Code {
  return [...left, ...right, op.and];
}

function xor(first: Code, ...others: readonly Code[]): Code {
  return [...first, ...others.flatMap((other) => [...other, op.xor])];
}

function add(first: Code, ...others: readonly Code[]): Code {
  return [...first, ...others.flatMap((other) => [...other, op.add])];
}

function vector(items: readonly Code[]): Code {
  return [...encodeU32(items.length), ...items.flat()];
}

function name(text: string): Code {
  return vector([...text].map((character) => [character.charCodeAt(0)]));
}

/** A signed LEB128 number of 32 bits: the highest of its last seven bits is its sign. */
function signed(value: number): Code {
  const bytes: number[] = [];
  let rest = value;
  for (; rest < -0x40 || rest > 0x3f; rest >>= 7) bytes.push(rest & 0x7f | 0x80);
  return [...bytes, rest & 0x7f];
}
