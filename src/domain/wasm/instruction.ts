/**
 * The instructions that a module may contain: those of WebAssembly 2.0, with their operand
 * sizes.
 *
 * It is a list of what is allowed. Threads, garbage collection, exceptions, tail calls and
 * relaxed SIMD (whose results depend on the processor) stay out, and so does whatever engines
 * learn later. The engine judges whether the instructions make sense together.
 */

import {
  type ByteReader,
  MalformedModuleError,
  readByte,
  readU32,
  skipBytes,
  skipSigned,
} from "./byte_reader.ts";

/** A module uses a feature outside WebAssembly 2.0. Thrown and caught within this folder. */
export class UnknownFeatureError extends Error {
  constructor(readonly offset: number, what: string) {
    super(what);
    this.name = "UnknownFeatureError";
  }
}

const END = 0x0b;
/** i32, i64, f32, f64, v128, funcref, externref. */
const VALUE_TYPES: ReadonlySet<number> = new Set([0x7f, 0x7e, 0x7d, 0x7c, 0x7b, 0x70, 0x6f]);
const REFERENCE_TYPES: ReadonlySet<number> = new Set([0x70, 0x6f]);
/** Set in the alignment of an access that names a memory explicitly. */
const NAMES_MEMORY = 0x40;
/** The number of the first relaxed SIMD instruction. */
const RELAXED_SIMD = 0x100;

export function readValueType(reader: ByteReader): number {
  const type = readByte(reader);
  if (!VALUE_TYPES.has(type)) throw unknown(reader, `the value type ${hex(type)}`);
  return type;
}

export function readReferenceType(reader: ByteReader): number {
  const type = readByte(reader);
  if (!REFERENCE_TYPES.has(type)) throw unknown(reader, `the reference type ${hex(type)}`);
  return type;
}

/** Skips instructions up to the end of `reader`. The last one must be `end`. */
export function skipInstructions(reader: ByteReader): void {
  let last = -1;
  while (reader.at < reader.end) last = skipInstruction(reader);
  if (last !== END) throw new MalformedModuleError(reader.at, "a function does not end with `end`");
}

/** Skips a constant expression: instructions up to the first `end`. */
export function skipConstant(reader: ByteReader): void {
  while (skipInstruction(reader) !== END);
}

/** Skips one instruction and returns its first byte. */
function skipInstruction(reader: ByteReader): number {
  const opcode = readByte(reader);
  if (opcode >= 0x45 && opcode <= 0xc4) return opcode; // Numeric: no operands.
  if (opcode >= 0x20 && opcode <= 0x26) readU32(reader); // Variables and table entries.
  else if (opcode >= 0x28 && opcode <= 0x3e) skipAccess(reader);
  else if (opcode === 0xfc) skipBulk(reader);
  else if (opcode === 0xfd) skipVector(reader);
  else skipOther(reader, opcode);
  return opcode;
}

function skipOther(reader: ByteReader, opcode: number): void {
  switch (opcode) {
    case 0x00: // unreachable
    case 0x01: // nop
    case 0x05: // else
    case END:
    case 0x0f: // return
    case 0x1a: // drop
    case 0x1b: // select
    case 0xd1: // ref.is_null
      return;
    case 0x02: // block
    case 0x03: // loop
    case 0x04: // if
      return skipSigned(reader, 33);
    case 0x0c: // br
    case 0x0d: // br_if
    case 0x10: // call
    case 0xd2: // ref.func
      return void readU32(reader);
    case 0x0e: // br_table
      for (let left = readU32(reader); left >= 0; left--) readU32(reader);
      return;
    case 0x11: // call_indirect
      readU32(reader);
      return void readU32(reader);
    case 0x1c: // select of a type
      for (let left = readU32(reader); left > 0; left--) readValueType(reader);
      return;
    case 0x3f: // memory.size
    case 0x40: // memory.grow
      return expectFirstMemory(reader);
    case 0x41: // i32.const
      return skipSigned(reader, 32);
    case 0x42: // i64.const
      return skipSigned(reader, 64);
    case 0x43: // f32.const
      return skipBytes(reader, 4);
    case 0x44: // f64.const
      return skipBytes(reader, 8);
    case 0xd0: // ref.null
      return void readReferenceType(reader);
    default:
      throw unknown(reader, `the instruction ${hex(opcode)}`);
  }
}

/** Skips alignment and offset. */
function skipAccess(reader: ByteReader): void {
  if ((readU32(reader) & NAMES_MEMORY) !== 0) throw unknown(reader, "more than one memory");
  readU32(reader);
}

function expectFirstMemory(reader: ByteReader): void {
  if (readByte(reader) !== 0) throw unknown(reader, "more than one memory");
}

/** Saturating conversions, and bulk operations on memories and tables. */
function skipBulk(reader: ByteReader): void {
  const operation = readU32(reader);
  if (operation <= 7) return;
  switch (operation) {
    case 8: // memory.init
      readU32(reader);
      return expectFirstMemory(reader);
    case 10: // memory.copy
      expectFirstMemory(reader);
      return expectFirstMemory(reader);
    case 11: // memory.fill
      return expectFirstMemory(reader);
    case 12: // table.init
    case 14: // table.copy
      readU32(reader);
      return void readU32(reader);
    case 9: // data.drop
    case 13: // elem.drop
    case 15: // table.grow
    case 16: // table.size
    case 17: // table.fill
      return void readU32(reader);
    default:
      throw unknown(reader, `the instruction 0xfc ${operation}`);
  }
}

function skipVector(reader: ByteReader): void {
  const operation = readU32(reader);
  if (operation >= RELAXED_SIMD) throw unknown(reader, `relaxed SIMD (0xfd ${operation})`);
  if (operation <= 11 || operation === 92 || operation === 93) return skipAccess(reader);
  if (operation <= 13) return skipBytes(reader, 16); // v128.const, i8x16.shuffle
  if (operation >= 21 && operation <= 34) return skipBytes(reader, 1); // One lane.
  if (operation >= 84 && operation <= 91) {
    skipAccess(reader);
    skipBytes(reader, 1);
  }
}

function unknown(reader: ByteReader, what: string): UnknownFeatureError {
  return new UnknownFeatureError(reader.at, what);
}

function hex(byte: number): string {
  return `0x${byte.toString(16).padStart(2, "0")}`;
}
