/**
 * Packs lists of elements into keys, byte for byte as FoundationDB's tuple layer does. Elements
 * are strings, integers and byte arrays. The order of packed bytes is the order of the elements:
 * byte arrays before strings before numbers, strings by code point, and a list before all that
 * extend it.
 *
 * `pack` runs for every key of every request, hence the shared scratch array.
 */

import { textOf } from "./byte_text.ts";
import type { Bytes, KeyRange } from "./engine.ts";
import { newBytes } from "./slab.ts";

/** Numbers are safe integers. */
export type TupleElement = string | number | Uint8Array;

/** First byte of an element. An integer of n bytes has `zero` + n, a negative one `zero` - n. */
const code = { bytes: 0x01, string: 0x02, zero: 0x14 } as const;
const integerBytesMax = 7;
/** The first and the last byte of an element. */
const ENDS = 2;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The buffer in which tuples are packed. It never leaves this file, and grows when needed. */
let scratch: Bytes = new Uint8Array(4096);

/**
 * The bytes of a tuple.
 * @throws {RangeError} for a number that is not a safe integer.
 * @throws {TypeError} for a string with a lone surrogate: two such strings could become one key.
 */
export function pack(elements: readonly TupleElement[]): Bytes {
  let at = 0;
  for (let i = 0; i < elements.length; i++) {
    const element = elements[i]!;
    if (typeof element === "string") at = putString(element, at);
    else if (typeof element !== "number") at = putBytes(element, at);
    else if (
      element > 0 && element <= 0xff && at + 2 <= scratch.length && (element | 0) === element
    ) {
      // Most numbers in keys name a kind of record or a tenant.
      scratch[at++] = code.zero + 1;
      scratch[at++] = element;
    } else at = putInteger(element, at);
  }
  const packed = newBytes(at);
  // Up to this size a loop beats the call into the runtime.
  if (at > 64) packed.set(scratch.subarray(0, at));
  else for (let i = 0; i < at; i++) packed[i] = scratch[i]!;
  return packed;
}

/** The first key after `key`. */
export function keyAfter(key: Bytes): Bytes {
  const next = newBytes(key.length + 1);
  next.set(key);
  return next;
}

/** All keys that extend the tuple by at least one element; not the tuple itself. */
export function rangeOf(elements: readonly TupleElement[]): KeyRange {
  const prefix = pack(elements);
  const [begin, end] = [newBytes(prefix.length + 1), newBytes(prefix.length + 1)];
  begin.set(prefix);
  end.set(prefix);
  end[prefix.length] = 0xff;
  return { begin, end };
}

/** All keys that begin with the elements, the last of which is text and may go on. */
export function rangeWith(elements: readonly TupleElement[]): KeyRange {
  const key = pack(elements);
  const begin = key.subarray(0, key.length - 1);
  const end = newBytes(key.length);
  end.set(begin);
  // No byte of a text is as large.
  end[key.length - 1] = 0xff;
  return { begin, end };
}

/**
 * The elements of a packed tuple.
 * @throws {RangeError} for bytes that `pack` cannot have made.
 */
export function unpack(bytes: Uint8Array): TupleElement[] {
  const elements: TupleElement[] = [];
  let at = 0;
  while (at < bytes.length) {
    const first = bytes[at]!;
    if (first === code.bytes || first === code.string) {
      const end = findTerminator(bytes, at + 1);
      const isText = first === code.string;
      elements.push(isText ? unpackText(bytes, at + 1, end) : unescape(bytes, at + 1, end));
      at = end + 1;
      continue;
    }
    const size = Math.abs(first - code.zero);
    if (size > integerBytesMax || at + 1 + size > bytes.length) throw malformed(at);
    elements.push(unpackInteger(bytes, at + 1, size, first < code.zero));
    at += 1 + size;
  }
  return elements;
}

/** Makes room for more than `length` bytes. */
function growScratch(length: number): void {
  const larger = new Uint8Array(2 * length);
  larger.set(scratch);
  scratch = larger;
}

function putString(text: string, at: number): number {
  if (at + text.length + ENDS > scratch.length) growScratch(at + text.length + ENDS);
  const start = at;
  scratch[at++] = code.string;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    // A zero must be escaped, and everything above 0x7f takes more than a byte.
    if (unit === 0 || unit > 0x7f) return putWideString(text, start);
    scratch[at++] = unit;
  }
  scratch[at++] = 0;
  return at;
}

function putWideString(text: string, at: number): number {
  if (!text.isWellFormed()) throw new TypeError("A key cannot hold a lone surrogate");
  return putEscaped(code.string, encoder.encode(text), at);
}

function putBytes(bytes: Uint8Array, at: number): number {
  return putEscaped(code.bytes, bytes, at);
}

function putEscaped(first: number, content: Uint8Array, at: number): number {
  const most = at + 2 * content.length + ENDS;
  if (most > scratch.length) growScratch(most);
  scratch[at++] = first;
  for (let i = 0; i < content.length; i++) {
    const byte = content[i]!;
    scratch[at++] = byte;
    if (byte === 0) scratch[at++] = 0xff;
  }
  scratch[at++] = 0;
  return at;
}

function putInteger(value: number, at: number): number {
  if (at + integerBytesMax + ENDS > scratch.length) growScratch(at + integerBytesMax + ENDS);
  if (value > 0 && value <= 0xffff_ffff && Math.floor(value) === value) {
    return putSmallInteger(value, at);
  }
  if (!Number.isSafeInteger(value)) throw new RangeError(`A key cannot hold the number ${value}`);
  const magnitude = Math.abs(value);
  let size = 0;
  for (let rest = magnitude; rest > 0; rest = Math.floor(rest / 256)) size++;
  scratch[at] = value < 0 ? code.zero - size : code.zero + size;
  const flip = value < 0 ? 0xff : 0;
  for (let rest = magnitude, i = at + size; i > at; i--) {
    // Division, because bit operators cut to 32 bits.
    const high = Math.floor(rest / 256);
    scratch[i] = (rest - high * 256) ^ flip;
    rest = high;
  }
  return at + 1 + size;
}

/** The integers that nearly all keys have: positive, of up to 32 bits. */
function putSmallInteger(value: number, at: number): number {
  const size = value > 0xffffff ? 4 : value > 0xffff ? 3 : value > 0xff ? 2 : 1;
  scratch[at++] = code.zero + size;
  if (size > 3) scratch[at++] = value >>> 24;
  if (size > 2) scratch[at++] = value >>> 16;
  if (size > 1) scratch[at++] = value >>> 8;
  scratch[at++] = value;
  return at;
}

function unpackInteger(bytes: Uint8Array, at: number, size: number, negative: boolean): number {
  let magnitude = 0;
  for (let i = 0; i < size; i++) {
    const byte = bytes[at + i]!;
    magnitude = magnitude * 256 + (negative ? byte ^ 0xff : byte);
  }
  if (!Number.isSafeInteger(magnitude)) throw malformed(at);
  return negative ? -magnitude : magnitude;
}

/** Index of the zero that ends an element: the first that is not followed by 0xff. */
function findTerminator(bytes: Uint8Array, from: number): number {
  for (let at = from; at < bytes.length; at++) {
    if (bytes[at] !== 0) continue;
    if (bytes[at + 1] !== 0xff) return at;
    at++;
  }
  throw malformed(from);
}

function unpackText(bytes: Uint8Array, begin: number, end: number): string {
  for (let at = begin; at < end; at++) {
    const byte = bytes[at]!;
    // A zero is escaped, and everything above 0x7f is part of a longer character.
    if (byte === 0 || byte > 0x7f) return decoder.decode(unescape(bytes, begin, end));
  }
  return textOf(bytes, begin, end);
}

function unescape(bytes: Uint8Array, begin: number, end: number): Bytes {
  const content = newBytes(end - begin);
  let length = 0;
  for (let at = begin; at < end; at++) {
    const byte = bytes[at]!;
    content[length++] = byte;
    // The 0xff after a zero only marks it as content.
    if (byte === 0) at++;
  }
  return length === content.length ? content : content.subarray(0, length);
}

function malformed(at: number): RangeError {
  return new RangeError(`Not a packed tuple: malformed at byte ${at}`);
}
