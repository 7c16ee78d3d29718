/**
 * The bytes of a module as they are kept: memory and tables with the largest size they may reach,
 * and no custom sections except the names of functions, which make traps readable.
 */

import { limits } from "../limits.ts";
import { encodeU32 } from "./byte_reader.ts";
import type { ModuleShape, SizeLimits } from "./module_shape.ts";

const CUSTOM = 0;
const TABLE = 4;
const MEMORY = 5;
const HEADER_BYTES = 8;
const HAS_MAXIMUM = 1;

/** `shape` is that of `bytes`, within all limits. */
export function rewriteModule(bytes: Uint8Array, shape: ModuleShape): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = [bytes.subarray(0, HEADER_BYTES)];
  for (const { id, name, start, end } of shape.sections) {
    if (id === CUSTOM && name !== "name") continue;
    if (id === MEMORY) parts.push(memorySection(shape));
    else if (id === TABLE) parts.push(tableSection(shape));
    else parts.push(bytes.subarray(start, end));
  }
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function memorySection({ memories }: ModuleShape): Uint8Array {
  const entries = memories.flatMap((memory) => sizes(memory, limits.wasmMemoryPagesMax));
  return section(MEMORY, [...encodeU32(memories.length), ...entries]);
}

function tableSection({ tables }: ModuleShape): Uint8Array {
  const entries = tables.flatMap((table) => [
    table.elementType,
    ...sizes(table, limits.wasmTableEntriesMax),
  ]);
  return section(TABLE, [...encodeU32(tables.length), ...entries]);
}

function sizes({ initial, maximum }: SizeLimits, limit: number): number[] {
  return [HAS_MAXIMUM, ...encodeU32(initial), ...encodeU32(Math.min(maximum ?? limit, limit))];
}

function section(id: number, content: readonly number[]): Uint8Array {
  return Uint8Array.of(id, ...encodeU32(content.length), ...content);
}
