/**
 * A state in the parts in which it is stored.
 *
 * It may have 32 MiB. A text of that size takes long to encode in one go, so it is encoded part by
 * part, and other work gets the thread in between.
 */

import { type Bytes, kvLimits } from "../../kv/engine.ts";

/** A state's JSON, as text or as its bytes in UTF-8. */
export type StateJson = string | Uint8Array<ArrayBuffer>;

/** Undefined while the thread may be used further; otherwise a promise to wait for. */
export type Rest = () => Promise<void> | undefined;

/** The most bytes of a part. */
export const PART_BYTES = kvLimits.valueBytesMax;
const encoder = new TextEncoder();

/** Parts of a text end with a whole character, so they may lack some bytes. */
export async function partsOfState(state: StateJson, rest: Rest): Promise<Bytes[]> {
  const parts: Bytes[] = [];
  for (let at = 0; at < state.length;) {
    const resting = rest();
    if (resting !== undefined) await resting;
    if (typeof state !== "string") {
      parts.push(state.slice(at, at + PART_BYTES) as Bytes);
      at += PART_BYTES;
      continue;
    }
    const part = new Uint8Array(PART_BYTES);
    // A character whose second half is cut off here has three bytes to come, and no room for them.
    const { read, written } = encoder.encodeInto(state.slice(at, at + PART_BYTES), part);
    parts.push((written === PART_BYTES ? part : part.slice(0, written)) as Bytes);
    at += read;
  }
  return parts;
}

/** The text of a state. */
export async function textOfState(state: StateJson, rest: Rest): Promise<string> {
  if (typeof state === "string") return state;
  const parts: Bytes[] = [];
  for (let at = 0; at < state.length; at += PART_BYTES) {
    parts.push(state.subarray(at, at + PART_BYTES) as Bytes);
  }
  return await textOfParts(parts, rest);
}

/** The text of all parts. */
export async function textOfParts(parts: readonly Bytes[], rest: Rest): Promise<string> {
  const decoder = new TextDecoder();
  if (parts.length === 1) return decoder.decode(parts[0]!);
  const texts: string[] = [];
  for (const part of parts) {
    texts.push(decoder.decode(part, { stream: true }));
    const resting = rest();
    if (resting !== undefined) await resting;
  }
  return texts.join("") + decoder.decode();
}

/** The bytes of all parts together. */
export async function bytesOfParts(
  parts: readonly Bytes[],
  rest: Rest,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    const resting = rest();
    if (resting !== undefined) await resting;
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
