/** Measures a state: the size of its JSON text and its depth, without producing the text. */

import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { limits } from "../limits.ts";

export interface StateSize {
  /** UTF-8 bytes of the JSON text. */
  readonly bytes: number;
  /** Levels of nested containers; 1 for a state of scalars. */
  readonly depth: number;
}

/**
 * Measures `state` as `JSON.stringify` would write it. It stops early when the state exceeds a
 * limit (`limits.stateBytesMax`, `limits.stateDepthMax`); the figure that passed its limit is
 * then above it but not exact.
 */
export function measureState(state: JsonObject): StateSize {
  const size = { bytes: 0, depth: 0 };
  measure(state, 1, size);
  return size;
}

/** Whether a state of this size may be stored and returned. */
export function isStateWithinLimits(size: StateSize): boolean {
  return size.bytes <= limits.stateBytesMax && size.depth <= limits.stateDepthMax;
}

function measure(value: JsonValue, level: number, size: { bytes: number; depth: number }): void {
  if (size.bytes > limits.stateBytesMax) return;
  if (Array.isArray(value)) {
    if (!enter(level, value.length, size)) return;
    // Bounded: measuring stops at `limits.stateBytesMax`.
    for (const element of value) measure(element, level + 1, size);
  } else if (isJsonObject(value)) {
    const names = Object.keys(value);
    if (!enter(level, names.length, size)) return;
    // Bounded: measuring stops at `limits.stateBytesMax`.
    for (const name of names) {
      size.bytes += textBytes(name) + 1;
      measure(value[name] as JsonValue, level + 1, size);
    }
  } else {
    size.bytes += typeof value === "string" ? textBytes(value) : String(value).length;
  }
}

/** Counts the brackets and commas of a container; false when it is too deep to look inside. */
function enter(level: number, count: number, size: { bytes: number; depth: number }): boolean {
  size.bytes += 2 + Math.max(0, count - 1);
  size.depth = Math.max(size.depth, level);
  return level <= limits.stateDepthMax;
}

/** Bytes of a string in JSON text, quotes and escapes included. */
function textBytes(text: string): number {
  let bytes = 2;
  // Bounded: a string of a state, which the caller charges or bounds.
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit >= 0x20 && unit < 0x80) bytes += unit === 0x22 || unit === 0x5c ? 2 : 1;
    else if (unit < 0x20) bytes += unit >= 8 && unit <= 13 && unit !== 11 ? 2 : 6;
    else if (unit < 0x800) bytes += 2;
    else if (unit < 0xd800 || unit > 0xdfff) bytes += 3;
    else if (isPair(text, index)) {
      bytes += 4;
      index++;
    } else bytes += 6; // JSON.stringify writes half a pair as an escape.
  }
  return bytes;
}

function isPair(text: string, index: number): boolean {
  const first = text.charCodeAt(index);
  const second = text.charCodeAt(index + 1);
  return first <= 0xdbff && second >= 0xdc00 && second <= 0xdfff;
}
