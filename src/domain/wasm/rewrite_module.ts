/**
 * Rewrites an uploaded module into the bytes that are kept.
 *
 * The largest sizes of its memory and tables are written into it. Its memory becomes its only
 * import, so that a runner can use one memory for many calls and wipe it in between, which is
 * far cheaper than a new memory each time. Custom sections are dropped, except function names,
 * which make traps readable.
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

/** A kept module imports a memory of this name, from a module with an empty name. */
export const MEMORY_IMPORT = "memory";

/** `shape` must be that of `bytes`, which has no imports and is within all limits. */
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
 * The initial and the maximum memory size of a kept module, in pages. `bytes` must come from
 * {@link rewriteModule}.
 */
export function memoryOfKept(bytes: Uint8Array): { initial: number; maximum: number } {
  const reader: ByteReader = { bytes, at: HEADER_BYTES, end: bytes.length };
  for (let id = readByte(reader); id !== IMPORTS; id = readByte(reader)) {
    skipBytes(reader, readU32(reader));
  }
  readU32(reader); // The length of the section.
  readU32(reader); // The number of imports, which is 1.
  readName(reader);
  readName(reader);
  skipBytes(reader, 2); // The import's kind, and the flag that it has a maximum.
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
