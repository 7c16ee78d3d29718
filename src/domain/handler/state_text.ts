/** Encodes a folded state as JSON text and checks its size. */

import { Buffer } from "node:buffer";
import type { JsonObject, JsonValue } from "../json.ts";
import { limits } from "../limits.ts";
import { accept, type Outcome, refuse } from "../refusal.ts";

/** Encodes a state as JSON; refuses one larger than `limits.stateBytesMax`. */
export function encodeState(state: JsonObject): Outcome<string> {
  const json = JSON.stringify(state);
  const limit = limits.stateBytesMax;
  // A UTF-16 code unit takes at most three bytes, so most states need no exact count.
  const bytes = json.length * 3 <= limit ? 0 : Buffer.byteLength(json);
  return bytes <= limit ? accept(json) : refuseState(bytes);
}

function refuseState(bytes: number) {
  const limit = limits.stateBytesMax;
  const message = `The state is ${bytes} bytes of JSON, more than the ${limit} a state may have`;
  return refuse({ kind: "fold_budget_exceeded", message, bytes, limit });
}

/** The length at which text collected for a large state is encoded as a piece. */
const PIECE_CHARACTERS = 128 * 1024;
/** Values at this depth are stringified whole. */
const DEPTH_IN_PARTS = 3;
const encoder = new TextEncoder();

/**
 * The same text in UTF-8, in pieces. Memory may be short, and building one string of 30 MB
 * takes several times its size while it grows.
 */
export function encodeStateInPieces(state: JsonObject): Outcome<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  let text = "";
  let bytes = 0;

  function cut(): void {
    const piece = encoder.encode(text);
    text = "";
    bytes += piece.length;
    // A state over the limit is only counted, not kept.
    if (bytes <= limits.stateBytesMax) pieces.push(piece);
  }

  // Bounded: a state whose fold was charged, in a process of its own.
  for (const part of partsOf(state, 0)) {
    text += part;
    if (text.length >= PIECE_CHARACTERS) cut();
  }
  cut();
  return bytes <= limits.stateBytesMax ? accept(pieces) : refuseState(bytes);
}

function* partsOf(value: JsonValue, depth: number): Generator<string> {
  if (value === null || typeof value !== "object" || depth === DEPTH_IN_PARTS) {
    yield JSON.stringify(value);
  } else if (Array.isArray(value)) {
    yield "[";
    // Bounded: as above.
    for (const [index, item] of value.entries()) {
      if (index > 0) yield ",";
      yield* partsOf(item, depth + 1);
    }
    yield "]";
  } else {
    yield "{";
    let comma = "";
    // Bounded: as above.
    for (const key in value) {
      yield `${comma}${JSON.stringify(key)}:`;
      comma = ",";
      yield* partsOf(value[key]!, depth + 1);
    }
    yield "}";
  }
}
