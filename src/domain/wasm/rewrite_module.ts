/**
 * The bytes of a module as they are kept. Its memory and tables have the largest size they may
 * reach written into them. Its memory is an import, the only one, so that whoever runs it can use
 * one memory for many calls, wiped in between, which costs far less than a new one each time.
 * Custom sections are left out, except the names of functions, which make traps readable.
 */

import {
  type ByteReader,
  encodeSection,
  encodeU32,
  readByte,
  readName,
  readU32,
  skipBytes,
} from "./byte_reader.ts";
import { limits } from "../limits.ts";
import type { ModuleShape, SizeLimits } from "./module_shape.ts";

const CUSTOM = 0;
const TYPES = 1;
const IMPORTS = 2;
const TABLE = 4;
const MEMORY = 5;
const HEADER_BYTES = 8;
const HAS_MAXIMUM = 1;
/** The kind of an import or export that is a memory. */
const MEMORY_KIND = 2;

/** What a kept module imports: a memory of this name, from a module without a name. */
export const MEMORY_IMPORT = "memory";

/** `shape` is that of `bytes`, which has no imports and is within all limits. */
export function rewriteModule(bytes: Uint8Array, shape: ModuleShape): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = [bytes.subarray(0, HEADER_BYTES)];
  for (const { id, name, start, end } of shape.sections) {
    if (id === CUSTOM && name !== "name") continue;
    if (id === MEMORY || id === IMPORTS) continue;
    if (id === TABLE) parts.push(tableSection(shape));
    else parts.push(bytes.subarray(start, end));
    if (id === TYPES) parts.push(importSection(shape));
  }
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/**
 * The size of the memory of a kept module, in pages, and the largest it may reach. `bytes` are
 * those that {@link rewriteModule} gave.
 */
export function memoryOfKept(bytes: Uint8Array): { initial: number; maximum: number } {
  const reader: ByteReader = { bytes, at: HEADER_BYTES, end: bytes.length };
  for (let id = readByte(reader); id !== IMPORTS; id = readByte(reader)) {
    skipBytes(reader, readU32(reader));
  }
  readU32(reader); // The length of the section.
  readU32(reader); // One import.
  readName(reader);
  readName(reader);
  skipBytes(reader, 2); // Its kind, and that it has a maximum.
  return { initial: readU32(reader), maximum: readU32(reader) };
}

function importSection({ memories }: ModuleShape): Uint8Array {
  const name = new TextEncoder().encode(MEMORY_IMPORT);
  const size = sizes(memories[0]!, limits.wasmMemoryPagesMax);
  return encodeSection(IMPORTS, [1, 0, name.length, ...name, MEMORY_KIND, ...size]);
}

function tableSection({ tables }: ModuleShape): Uint8Array {
  const entries = tables.flatMap((table) => [
    table.elementType,
    ...sizes(table, limits.wasmTableEntriesMax),
  ]);
  return encodeSection(TABLE, [...encodeU32(tables.length), ...entries]);
}

function sizes({ initial, maximum }: SizeLimits, limit: number): number[] {
  return [HAS_MAXIMUM, ...encodeU32(initial), ...encodeU32(Math.min(maximum ?? limit, limit))];
}
