/**
 * SHA-256 as a WebAssembly module, written out instruction by instruction.
 *
 * `../audit/chain.ts` hashes the nodes of trees with it, and says why.
 */

import {
  BLOCK_BYTES,
  INITIAL,
  ROUND_LOCALS,
  roundsCode,
  SCHEDULE_WORDS,
  TEMPORARY,
  variableLocal,
  VARIABLES,
  wordLocal,
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

/** Where the module leaves the digest. */
export const DIGEST_OFFSET = 0;
/** One page, the unit of a module's memory. */
export const MEMORY_BYTES = 65_536;

export interface Sha256Module {
  readonly memory: WebAssembly.Memory;
  /** Hashes the padded message from `begin` up to `end`, in whole blocks, into the digest. */
  readonly digest: (begin: number, end: number) => void;
}

const WORD_BYTES = 4;

/** The two parameters. */
const BEGIN = 0;
const END = 1;

/** Compiles the module. Call this once in each process. */
export function openSha256Module(): Sha256Module {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(moduleBytes()));
  return exports as unknown as Sha256Module;
}

function moduleBytes(): Uint8Array<ArrayBuffer> {
  const digest = functionBody([[ROUND_LOCALS, I32]], digestCode());
  const exported = [[...name("memory"), 2, 0], [...name("digest"), 0, 0]];
  return new Uint8Array([
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...encodeSection(1, vector([[0x60, 2, I32, I32, 0]])),
    ...encodeSection(3, vector([[0]])),
    ...encodeSection(5, vector([[0, 1]])),
    ...encodeSection(7, vector(exported)),
    ...encodeSection(10, vector([digest])),
  ]);
}

/** Keeps the intermediate hash in the place of the digest and converts it at the end. */
function digestCode(): Code {
  const indexes = Array.from({ length: VARIABLES }, (_, index) => index);
  return [
    ...indexes.flatMap((index) => storeHash(index, constant(INITIAL[index]!))),
    ...[...op.loop, NO_RESULT],
    ...indexes.flatMap((index) => set(variableLocal(index), loadHash(index))),
    ...Array.from({ length: SCHEDULE_WORDS }, (_, index) => readWord(index)).flat(),
    ...roundsCode(),
    ...indexes.flatMap((index) =>
      storeHash(index, joined(op.add, get(variableLocal(index)), loadHash(index)))
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
  const word = loaded(get(BEGIN), WORD_BYTES * index);
  return [...set(TEMPORARY, word), ...set(wordLocal(index), swappedTemporary())];
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
  return loaded(constant(0), DIGEST_OFFSET + WORD_BYTES * index);
}

function storeHash(index: number, value: Code): Code {
  return stored(constant(0), DIGEST_OFFSET + WORD_BYTES * index, value);
}
