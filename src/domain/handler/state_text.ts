/** A folded state as JSON text. */

import { Buffer } from "node:buffer";
import type { JsonObject, JsonValue } from "../json.ts";
import { limits } from "../limits.ts";
import { accept, type Outcome, refuse } from "../refusal.ts";

/** Refused when it is larger than a state may be. */
export function encodeState(state: JsonObject): Outcome<string> {
  const json = JSON.stringify(state);
  const limit = limits.stateBytesMax;
  // No character takes more than three bytes, so most states need not be counted.
  const bytes = json.length * 3 <= limit ? 0 : Buffer.byteLength(json);
  return bytes <= limit ? accept(json) : refuseState(bytes);
}

function refuseState(bytes: number) {
  const limit = limits.stateBytesMax;
  const message = `The state is ${bytes} bytes of JSON, more than the ${limit} a state may have`;
  return refuse({ kind: "fold_budget_exceeded", message, bytes, limit });
}

/** What the text of a large state is made in. */
const PIECE_CHARACTERS = 128 * 1024;
/** Values down there are made into text at once. */
const DEPTH_IN_PARTS = 3;
const encoder = new TextEncoder();

/**
 * The same text in UTF-8, in pieces: where memory is short, a text of 30 MB at once takes several
 * times that while it grows.
 */
export function encodeStateInPieces(state: JsonObject): Outcome<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  let text = "";
  let bytes = 0;

  function cut(): void {
    const piece = encoder.encode(text);
    text = "";
    bytes += piece.length;
    // What is too large is only counted.
    if (bytes <= limits.stateBytesMax) pieces.push(piece);
  }

  // Bounded: a state that folding was charged for, in a process of its own.
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
    // Bounded: the same.
    for (const [index, item] of value.entries()) {
      if (index > 0) yield ",";
      yield* partsOf(item, depth + 1);
    }
    yield "]";
  } else {
    yield "{";
    let comma = "";
    // Bounded: the same.
    for (const key in value) {
      yield `${comma}${JSON.stringify(key)}:`;
      comma = ",";
      yield* partsOf(value[key]!, depth + 1);
    }
    yield "}";
  }
}
