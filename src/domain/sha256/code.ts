/**
 * Encodes hand-written WebAssembly (core specification, chapter 5).
 *
 * It builds instructions and the parts of a module around them.
 */

import { encodeU32 } from "../wasm/byte_reader.ts";

/** Instructions in execution order, each after its operands. */
export type Code = readonly number[];

/** Instructions on 32-bit integers, and control flow. */
export const op = {
  loop: [0x03],
  end: [0x0b],
  branchIf: [0x0d],
  getLocal: [0x20],
  setLocal: [0x21],
  load: [0x28],
  store: [0x36],
  constant: [0x41],
  isBelow: [0x49],
  add: [0x6a],
  and: [0x71],
  or: [0x72],
  xor: [0x73],
  shiftRight: [0x76],
  rotateLeft: [0x77],
  rotateRight: [0x78],
} as const;

export const I32 = 0x7f;
export const NO_RESULT = 0x40;

/** Alignment of loads and stores, as a power of 2. */
const WORD_ALIGNMENT = 2;

export function get(local: number): Code {
  return [...op.getLocal, ...encodeU32(local)];
}

export function set(local: number, value: Code): Code {
  return [...value, ...op.setLocal, ...encodeU32(local)];
}

export function constant(value: number): Code {
  return [...op.constant, ...signed(value | 0)];
}

/** Combines several values into one with an instruction that takes two. */
export function joined(by: Code, first: Code, ...others: readonly Code[]): Code {
  return [...first, ...others.flatMap((other) => [...other, ...by])];
}

/** The word that lies `offset` bytes after the address. */
export function loaded(address: Code, offset: number): Code {
  return [...address, ...op.load, WORD_ALIGNMENT, ...encodeU32(offset)];
}

/** Stores a word `offset` bytes after the address. */
export function stored(address: Code, offset: number, value: Code): Code {
  return [...address, ...value, ...op.store, WORD_ALIGNMENT, ...encodeU32(offset)];
}

export function vector(items: readonly Code[]): Code {
  return [...encodeU32(items.length), ...items.flat()];
}

export function name(text: string): Code {
  return vector([...text].map((character) => [character.charCodeAt(0)]));
}

/** A function's locals by type, and its instructions. */
export function functionBody(locals: readonly Code[], code: Code): Code {
  const body = [...vector(locals), ...code, ...op.end];
  return [...encodeU32(body.length), ...body];
}

/** Signed LEB128 of 32 bits. The highest of the last seven bits is the sign. */
function signed(value: number): Code {
  const bytes: number[] = [];
  let rest = value;
  for (; rest < -0x40 || rest > 0x3f; rest >>= 7) bytes.push(rest & 0x7f | 0x80);
  return [...bytes, rest & 0x7f];
}
