/**
 * SHA-256 as a WebAssembly module, written out instruction by instruction.
 *
 * It hashes one message, or four side by side (`lanes.ts`). `../sha256.ts` says what each is
 * good for.
 */

import { K_OFFSET, lanesCode, lanesLocals } from "./lanes.ts";
import {
  BLOCK_BYTES,
  INITIAL,
  K,
  ROUND_LOCALS,
  roundsCode,
  SCHEDULE_WORDS,
  temporaryLocal,
  variableLocal,
  VARIABLES,
  wordLocal,
  type Words,
} from "./rounds.ts";
import { encodeSection } from "../wasm/byte_reader.ts";
import {
  type Code,
  constant,
  functionBody,
  get,
  I32,
  joined,
  loaded,
  name,
  NO_RESULT,
  op,
  set,
  stored,
  vector,
} from "./code.ts";

/** Where the module leaves the digest of a single message. */
export const DIGEST_OFFSET = 0;
/** One page, the unit of a module's memory. */
export const MEMORY_BYTES = 65_536;

export interface Sha256Module {
  readonly memory: WebAssembly.Memory;
  /** Hashes the padded message from `begin` up to `end`, in whole blocks, into the digest. */
  readonly digest: (begin: number, end: number) => void;
  /**
   * Hashes four padded messages, `LANE_BYTES` apart, into the four digests. `begin` is the
   * start of the first message, `end` where the longest would end in the first lane. The caller
   * must first store where each message would end in the first lane, at `ENDS_OFFSET`.
   */
  readonly digests: (begin: number, end: number) => void;
}

const WORD_BYTES = 4;

/** Locals: the two parameters, then those of the rounds. */
const BEGIN = 0;
const END = 1;

const words: Words = {
  firstLocal: 2,
  add: op.add,
  and: op.and,
  or: op.or,
  xor: op.xor,
  rotatedRight: (local, bits) => [...get(local), ...constant(bits), ...op.rotateRight],
  shiftedRight: (local, bits) => [...get(local), ...constant(bits), ...op.shiftRight],
  constantOf: (round) => constant(K[round]!),
};

const TEMPORARY = temporaryLocal(words);

/** Compiles the module. Call this once in each process. */
export function openSha256Module(): Sha256Module {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(moduleBytes()));
  return exports as unknown as Sha256Module;
}

function moduleBytes(): Uint8Array<ArrayBuffer> {
  const digest = functionBody([[ROUND_LOCALS, I32]], digestCode());
  const digests = functionBody([lanesLocals], lanesCode());
  const exported = [[...name("memory"), 2, 0], [...name("digest"), 0, 0], [
    ...name("digests"),
    ...[0, 1],
  ]];
  const constants = [...new Uint8Array(littleEndian(K))];
  return new Uint8Array([
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...encodeSection(1, vector([[0x60, 2, I32, I32, 0]])),
    ...encodeSection(3, vector([[0], [0]])),
    ...encodeSection(5, vector([[0, 1]])),
    ...encodeSection(7, vector(exported)),
    ...encodeSection(10, vector([digest, digests])),
    ...encodeSection(11, vector([dataAt(K_OFFSET, constants)])),
  ]);
}

/** A data segment: bytes that the memory holds from the start. */
function dataAt(offset: number, bytes: Code): Code {
  return [0, ...constant(offset), ...op.end, ...vector(bytes.map((byte) => [byte]))];
}

function littleEndian(numbers: readonly number[]): ArrayBuffer {
  const view = new DataView(new ArrayBuffer(WORD_BYTES * numbers.length));
  for (const [index, number] of numbers.entries()) view.setUint32(WORD_BYTES * index, number, true);
  return view.buffer;
}

/** Keeps the intermediate hash in the place of the digest and converts it at the end. */
function digestCode(): Code {
  const indexes = Array.from({ length: VARIABLES }, (_, index) => index);
  return [
    ...indexes.flatMap((index) => storeHash(index, constant(INITIAL[index]!))),
    ...[...op.loop, NO_RESULT],
    ...indexes.flatMap((index) => set(variableLocal(words, index), loadHash(index))),
    ...Array.from({ length: SCHEDULE_WORDS }, (_, index) => readWord(index)).flat(),
    ...roundsCode(words),
    ...indexes.flatMap((index) =>
      storeHash(index, joined(op.add, get(variableLocal(words, index)), loadHash(index)))
    ),
    ...set(BEGIN, joined(op.add, get(BEGIN), constant(BLOCK_BYTES))),
    ...[...joined(op.isBelow, get(BEGIN), get(END)), ...op.branchIf, 0],
    ...op.end,
    ...indexes.flatMap((index) => [
      ...set(TEMPORARY, loadHash(index)),
      ...storeHash(index, swappedTemporary()),
    ]),
  ];
}

function readWord(index: number): Code {
  const word = loaded(op.load, get(BEGIN), WORD_BYTES * index);
  return [...set(TEMPORARY, word), ...set(wordLocal(words, index), swappedTemporary())];
}

/** Swaps byte order: messages have big-endian words, WebAssembly memory is little-endian. */
function swappedTemporary(): Code {
  const outer = [...get(TEMPORARY), ...constant(8), ...op.rotateLeft];
  const inner = [...get(TEMPORARY), ...constant(24), ...op.rotateLeft];
  return joined(
    op.or,
    joined(op.and, outer, constant(0x00ff00ff)),
    joined(op.and, inner, constant(0xff00ff00)),
  );
}

function loadHash(index: number): Code {
  return loaded(op.load, constant(0), DIGEST_OFFSET + WORD_BYTES * index);
}

function storeHash(index: number, value: Code): Code {
  return stored(op.store, constant(0), DIGEST_OFFSET + WORD_BYTES * index, value);
}
