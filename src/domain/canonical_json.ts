/**
 * Canonical JSON: keys sorted by UTF-16 code units at every level, no white space.
 *
 * Two bodies or specs with the same content have the same canonical text, and therefore the
 * same hash, which `canonical_hash.ts` computes. See docs/reference/writing.md and
 * docs/reference/specs.md.
 */

import type { JsonValue } from "./json.ts";

/**
 * Recursion writes this many levels, because it is fastest. Deeper values use a stack on the
 * heap.
 */
const RECURSION_DEPTH_MAX = 200;
/**
 * Text is handed on at this length, because building longer strings burdens the garbage
 * collector.
 */
export const PIECE_CHARACTERS = 16 * 1024;

/** `{"b":1,"a":[2]}` gives `{"a":[2],"b":1}`. Never overflows the stack, however deep the value. */
export function canonicalJson(value: JsonValue): string {
  const pieces: string[] = [];
  const writer: Writer = { text: "", handOn: (piece) => pieces.push(piece) };
  writeCanonical(writer, value, 0);
  return pieces.length === 0 ? writer.text : pieces.join("") + writer.text;
}

/** Collects the text. It is handed on only between two values or names, never within one. */
export interface Writer {
  text: string;
  readonly handOn: (piece: string) => void;
}

/** Text that JSON writes unescaped: no quote, backslash, control character or surrogate. */
const PLAIN_TEXT = /^[ !#-[\]-~]*$/;

/** Up to this length, calling `JSON.stringify` costs more than quoting the text here. */
const SHORT_CHARACTERS = 64;

export function quote(text: string): string {
  return text.length <= SHORT_CHARACTERS && PLAIN_TEXT.test(text)
    ? '"' + text + '"'
    : JSON.stringify(text);
}

function writeScalar(value: null | boolean | number | string): string {
  if (typeof value === "string") return quote(value);
  // Adding 0 turns -0 into 0: JSON texts have one zero.
  if (typeof value === "number" && Number.isFinite(value)) return "" + (value + 0);
  return JSON.stringify(value);
}

export function writeCanonical(writer: Writer, value: JsonValue, depth: number): void {
  if (typeof value !== "object" || value === null) writer.text += writeScalar(value);
  else if (depth === RECURSION_DEPTH_MAX) writeDeep(writer, value);
  else if (Array.isArray(value)) writeArray(writer, value, depth);
  else {
    // A key such as `__proto__` is an own property here, and reading an own property is safe.
    const { sorted, openings } = findLayout(Object.keys(value));
    for (let index = 0; index < sorted.length; index++) {
      writer.text += openings[index]!;
      writeCanonical(writer, value[sorted[index]!]!, depth + 1);
    }
    writer.text += sorted.length === 0 ? "{}" : "}";
  }
  if (writer.text.length >= PIECE_CHARACTERS) handOn(writer);
}

export function handOn(writer: Writer): void {
  writer.handOn(writer.text);
  writer.text = "";
}

/** How to write all objects that have the same keys in the same order. */
interface Layout {
  readonly keys: readonly string[];
  readonly sorted: readonly string[];
  /** The text before each value: `{"a":` for the first, `,"b":` for a later one. */
  readonly openings: readonly string[];
}

/** Layouts kept. The objects of a batch, and those of most requests, have only a few. */
const LAYOUTS_KEPT = 64;
/** Longer layouts are not kept: a client could fill memory with them. */
const KEPT_CHARACTERS_MAX = 1_024;

const layouts: (Layout | undefined)[] = Array(LAYOUTS_KEPT).fill(undefined);

/**
 * Finding a kept layout is cheaper than sorting and quoting the keys again: see
 * docs/internals/optimisations.md.
 */
function findLayout(keys: readonly string[]): Layout {
  const slot = slotOf(keys);
  const kept = layouts[slot];
  if (kept?.keys.length === keys.length) {
    let same = 0;
    while (same < keys.length && kept.keys[same] === keys[same]) same++;
    if (same === keys.length) return kept;
  }
  const sorted = sortKeys([...keys]);
  const openings = sorted.map((key, index) => (index === 0 ? "{" : ",") + quote(key) + ":");
  const layout = { keys, sorted, openings };
  const characters = openings.reduce((sum, { length }) => sum + length, 0);
  if (characters <= KEPT_CHARACTERS_MAX) layouts[slot] = layout;
  return layout;
}

/** A cheap hash of the keys. Layouts that share a slot only evict each other. */
function slotOf(keys: readonly string[]): number {
  const count = keys.length;
  if (count === 0) return 0;
  const first = keys[0]!;
  const last = keys[count - 1]!;
  // An empty key has the char code NaN, and `NaN & 63` is 0.
  const codes = 3 * first.charCodeAt(0) + 5 * last.charCodeAt(0);
  return (7 * count + 11 * first.length + 13 * last.length + codes) & (LAYOUTS_KEPT - 1);
}

/** Insertion sort: most objects have few keys, where it is several times faster than `sort`. */
function sortKeys(keys: string[]): string[] {
  if (keys.length > 16) return keys.sort();
  for (let index = 1; index < keys.length; index++) {
    const key = keys[index]!;
    let place = index;
    for (; place > 0 && keys[place - 1]! > key; place--) keys[place] = keys[place - 1]!;
    keys[place] = key;
  }
  return keys;
}

function writeArray(writer: Writer, value: JsonValue[], depth: number): void {
  for (let index = 0; index < value.length; index++) {
    writer.text += index === 0 ? "[" : ",";
    writeCanonical(writer, value[index]!, depth + 1);
  }
  writer.text += value.length === 0 ? "[]" : "]";
}

/** Text to write unchanged, or a value that is still to be written. */
type Pending = { readonly text: string } | { readonly value: JsonValue };

function writeDeep(writer: Writer, root: JsonValue): void {
  const pending: Pending[] = [{ value: root }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if ("text" in next) writer.text += next.text;
    else if (typeof next.value !== "object" || next.value === null) {
      writer.text += writeScalar(next.value);
    } else pushParts(next.value, pending);
    if (writer.text.length >= PIECE_CHARACTERS) handOn(writer);
  }
}

/** Pushes the parts of one array or object in reverse, so that the first part is taken next. */
function pushParts(value: JsonValue[] | { [key: string]: JsonValue }, pending: Pending[]): void {
  const isArray = Array.isArray(value);
  const keys = isArray ? [...value.keys()] : Object.keys(value).sort();
  pending.push({ text: isArray ? "]" : "}" });
  for (let index = keys.length - 1; index >= 0; index--) {
    const key = keys[index]!;
    pending.push({ value: isArray ? value[key as number]! : (value as never)[key] });
    const name = isArray ? "" : quote(String(key)) + ":";
    pending.push({ text: (index === 0 ? "" : ",") + name });
  }
  pending.push({ text: isArray ? "[" : "{" });
}
