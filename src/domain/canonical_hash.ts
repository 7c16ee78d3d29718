/**
 * The hash of a value: that of its canonical text, whatever the order of its keys. It stands beside
 * the text because browsers compare texts too, but have no such hash.
 */

import { createHash, type Hash, hash } from "node:crypto";
import {
  handOn as handOnText,
  PIECE_CHARACTERS,
  quote,
  writeCanonical,
  type Writer,
} from "./canonical_json.ts";
import type { Pieces, Steps } from "./fairness/pieces.ts";
import type { JsonValue } from "./json.ts";

/** SHA-256 of the canonical text as 64 hex characters, computed without holding the whole text. */
export function canonicalHash(value: JsonValue): string {
  let hasher: Hash | undefined;
  const handOn = (piece: string) => (hasher ??= createHash("sha256")).update(piece);
  const writer: Writer = { text: "", handOn };
  writeCanonical(writer, value, 0);
  return hasher === undefined
    ? hash("sha256", writer.text, "hex")
    : hasher.update(writer.text).digest("hex");
}

/** The same hash, for values that may be large: yields the thread between time slices. */
export async function canonicalHashInPieces(value: JsonValue, pieces: Pieces): Promise<string> {
  const steps = canonicalHashSteps(value);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    const rest = pieces.rest();
    if (rest !== undefined) await rest;
  }
}

/** The same hash as a generator that yields between the parts of the value. */
export function* canonicalHashSteps(value: JsonValue): Steps<string> {
  const hasher = createHash("sha256");
  yield* canonicalPieces(value, (piece) => hasher.update(piece));
  return hasher.digest("hex");
}

/** Hands on the canonical text piece by piece, and yields between the parts of the value. */
export function* canonicalPieces(
  value: JsonValue,
  handOn: (piece: string) => void,
): Steps<void> {
  const writer: Writer = { text: "", handOn };
  const open: OpenValue[] = [];

  function enter(part: JsonValue): void {
    if (isScalar(part) || weighUpTo(part, SMALL_WEIGHT) < SMALL_WEIGHT) {
      writeCanonical(writer, part, 0);
    } else open.push({ value: part, keys: keysOf(part), next: 0 });
  }

  enter(value);
  for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
    yield;
    const part = writeNext(writer, top);
    if (part === undefined) open.pop();
    else enter(part);
  }
  handOn(writer.text);
}

/** An array or object whose parts are written one by one. */
interface OpenValue {
  readonly value: JsonValue[] | { [key: string]: JsonValue };
  /** Sorted; undefined for an array. */
  readonly keys: readonly string[] | undefined;
  next: number;
}

/**
 * Values below this weight are written without yielding. One value weighs 1, and so do 16
 * characters.
 */
const SMALL_WEIGHT = 1_000;
const CHARACTERS_OF_VALUE = 16;

function isScalar(value: JsonValue): value is null | boolean | number | string {
  return typeof value !== "object" || value === null;
}

/** The weight of a value. Counting stops once it reaches `enough`. */
function weighUpTo(value: JsonValue, enough: number): number {
  if (typeof value === "string") return 1 + value.length / CHARACTERS_OF_VALUE;
  if (isScalar(value)) return 1;
  let weight = 1;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && weight < enough; index++) {
      weight += weighUpTo(value[index]!, enough - weight);
    }
    return weight;
  }
  for (const key in value) {
    weight += 1 + key.length / CHARACTERS_OF_VALUE + weighUpTo(value[key]!, enough - weight);
    if (weight >= enough) break;
  }
  return weight;
}

function keysOf(value: OpenValue["value"]): readonly string[] | undefined {
  return Array.isArray(value) ? undefined : Object.keys(value).sort();
}

/**
 * Writes up to the next part and returns that part. After the last part it closes the value and
 * returns undefined.
 */
function writeNext(writer: Writer, open: OpenValue): JsonValue | undefined {
  const { value, keys } = open;
  const isFirst = open.next === 0;
  const index = open.next++;
  let part: JsonValue | undefined;
  if (keys === undefined) {
    part = (value as JsonValue[])[index];
    writer.text += part === undefined ? "]" : isFirst ? "[" : ",";
  } else {
    const key = keys[index];
    part = key === undefined ? undefined : (value as { [key: string]: JsonValue })[key];
    writer.text += key === undefined ? "}" : `${isFirst ? "{" : ","}${quote(key)}:`;
  }
  if (writer.text.length >= PIECE_CHARACTERS) handOnText(writer);
  return part;
}
