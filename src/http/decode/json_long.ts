/**
 * Parses a long JSON text in time slices, as `json_text.ts` does at once for short ones.
 *
 * It scans the text once. As soon as enough has been seen, it parses the complete elements or
 * members as a group and adds them to their containers. So no step takes longer than a group,
 * and the values in a text are counted before memory is spent on them.
 */

import { countKeys, type JsonObject, type JsonValue } from "../../domain/json.ts";
import { limits } from "../../domain/limits.ts";
import type { Refusal } from "../../domain/refusal.ts";
import { findJsonFault } from "./json_fault.ts";
import { closingQuote, isDigit, isNumberCharacter, nextQuote } from "./json_characters.ts";

/**
 * The size of a group that is parsed at once; also how far the scan goes between checks of the
 * clock.
 */
const GROUP_CHARACTERS = 32 * 1024;
/** Every integer of at most 15 digits is exact, so a shorter literal needs no second look. */
const SAFE_NUMBER_CHARACTERS = 15;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const LETTER_E = 0x65;
const CAPITAL_E = 0x45;

/** A container that is filled group by group. */
interface Builder {
  /** Its key or index in its parent; empty for the root. */
  readonly name: string;
  readonly array?: JsonValue[];
  readonly object: JsonObject;
  keys: number;
  /** What precedes the group: nothing, a comma, or a container that was filled separately. */
  after: "start" | "comma" | "container";
}

/** Ends the reading; caught in {@link stepLong}. */
class Fault extends Error {
  constructor(readonly refusal: Refusal) {
    super();
  }
}

/** The state of the reading. */
export interface LongReader {
  readonly text: string;
  /** The name of the text in refusals. */
  readonly subject: string;
  readonly groupCharacters: number;
  readonly hasEscapes: boolean;
  /** The value; complete once the whole text has been read. */
  root: JsonObject | undefined;
  /** Values so far; arrays and objects count twice. */
  nodes: number;
  at: number;
  keys: number;
  depth: number;
  /** The position of the last number that a double may not hold. */
  doubtfulAt: number;
  groupStart: number;
  /** The number of keys seen before the group. */
  groupKeys: number;
  readonly builders: Builder[];
  /**
   * By depth: where the currently open container began, its last comma, and the keys seen by
   * then.
   */
  readonly openAt: Int32Array;
  readonly openKeys: Int32Array;
  readonly commaAt: Int32Array;
  readonly commaKeys: Int32Array;
}

export function openLong(
  text: string,
  subject: string,
  groupCharacters: number = GROUP_CHARACTERS,
): LongReader {
  const byDepth = () => new Int32Array(limits.jsonDepthMax + 2);
  return {
    text,
    subject,
    groupCharacters,
    hasEscapes: text.includes("\\"),
    root: undefined,
    nodes: 0,
    at: 0,
    keys: 0,
    depth: 0,
    doubtfulAt: -1,
    groupStart: 0,
    groupKeys: 0,
    builders: [],
    openAt: byDepth(),
    openKeys: byDepth(),
    commaAt: byDepth(),
    commaKeys: byDepth(),
  };
}

/** Reads on. True: there is more; false: the text has been read; otherwise the fault. */
export function stepLong(reader: LongReader): boolean | Refusal {
  const stop = Math.min(reader.at + reader.groupCharacters, reader.text.length);
  try {
    if (reader.root === undefined) openRoot(reader, stop);
    if (reader.builders.length > 0) scan(reader, stop);
    if (reader.root !== undefined && reader.builders.length === 0) skipEnd(reader, stop);
    if (reader.at < reader.text.length) return true;
    if (reader.root === undefined || reader.builders.length > 0) refuseEnd(reader);
    return false;
  } catch (error) {
    if (error instanceof Fault) return error.refusal;
    throw error;
  }
}

function openRoot(reader: LongReader, stop: number): void {
  while (reader.at < stop && isSpace(reader.text.charCodeAt(reader.at))) reader.at++;
  if (reader.at >= stop) return;
  if (reader.text.charCodeAt(reader.at) !== OPEN_BRACE) {
    refuse(`${reader.subject} must be a JSON object`);
  }
  reader.root = {};
  reader.builders.push({ name: "", object: reader.root, keys: 0, after: "start" });
  reader.depth = 1;
  reader.commaAt[1] = -1;
  reader.at++;
  reader.groupStart = reader.at;
}

/** Scans to `stop`, to the end of a token beyond it, or to the end of the root. */
function scan(reader: LongReader, stop: number): void {
  const { text } = reader;
  let at = reader.at;
  for (; at < stop; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(reader, at);
    } else if (code === COMMA) {
      reader.nodes++;
      reader.commaAt[reader.depth] = at;
      reader.commaKeys[reader.depth] = reader.keys;
      if (at - reader.groupStart >= reader.groupCharacters) flushUpTo(reader, at);
    } else if (code === COLON) {
      reader.keys++;
    } else if (isDigit(code)) {
      at = endOfNumber(reader, at);
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      enter(reader, at);
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      if (reader.depth === reader.builders.length) closeBuilder(reader, at, code);
      reader.depth--;
      if (reader.depth === 0) {
        reader.at = at + 1;
        return;
      }
    } else if (code === LETTER_E || code === CAPITAL_E) {
      // An exponent follows a digit; the letter e of `true` and `false` does not.
      if (isDigit(text.charCodeAt(at - 1))) reader.doubtfulAt = at;
    }
  }
  reader.at = at;
  if (reader.nodes > limits.jsonNodesMax) {
    refuseTooLarge(`${reader.subject} holds more than ${limits.jsonNodesMax} values`, {
      limit: limits.jsonNodesMax,
    });
  }
}

function endOfString(reader: LongReader, open: number): number {
  const { text } = reader;
  const limit = limits.jsonStringCharactersMax;
  const last = Math.min(text.length, open + limit + 2);
  const close = reader.hasEscapes ? closingQuote(text, open, last) : nextQuote(text, open);
  if (close - open - 1 > limit) {
    const message = `A string in ${reader.subject.toLowerCase()} exceeds ${limit} characters`;
    refuseTooLarge(message, { limit });
  }
  return close;
}

function endOfNumber(reader: LongReader, start: number): number {
  let at = start;
  // A longer number is refused, so its rest need not be read.
  const last = start + limits.jsonNumberCharactersMax;
  while (at < last && isNumberCharacter(reader.text.charCodeAt(at + 1))) at++;
  if (at - start >= SAFE_NUMBER_CHARACTERS) reader.doubtfulAt = start;
  if (at - start >= limits.jsonNumberCharactersMax) {
    refuseGroup(reader, reader.text.slice(reader.groupStart, at + 1));
  }
  return at;
}

function enter(reader: LongReader, at: number): void {
  if (at - reader.groupStart >= reader.groupCharacters) flushUpTo(reader, at);
  reader.nodes++;
  const depth = ++reader.depth;
  if (depth > limits.jsonDepthMax) {
    refuseGroup(reader, reader.text.slice(reader.groupStart, at + 1));
  }
  reader.openAt[depth] = at;
  reader.openKeys[depth] = reader.keys;
  reader.commaAt[depth] = -1;
}

/** Parses what is complete before `at`, and opens containers that have become too long. */
function flushUpTo(reader: LongReader, at: number): void {
  while (at - reader.groupStart >= reader.groupCharacters) {
    const level = reader.builders.length;
    const comma = reader.commaAt[level]!;
    if (comma >= reader.groupStart) {
      flush(reader, comma, reader.commaKeys[level]!);
      reader.builders[level - 1]!.after = "comma";
      reader.groupStart = comma + 1;
      reader.groupKeys = reader.commaKeys[level]!;
    } else if (level < reader.depth) openBuilder(reader, reader.openAt[level + 1]!);
    else return;
  }
}

/** Starts to fill the container at `open` separately; so far it was part of the group. */
function openBuilder(reader: LongReader, open: number): void {
  const parent = reader.builders.at(-1)!;
  if (!passComma(reader, open)) refuseAfterContainer(reader, open);
  const before = reader.text.slice(reader.groupStart, open);
  const isArray = reader.text.charCodeAt(open) === OPEN_BRACKET;
  const name = parent.array === undefined
    ? readKey(reader, before)
    : checkBlank(reader, before, parent.array.length);
  const array: JsonValue[] | undefined = isArray ? [] : undefined;
  const object: JsonObject = {};
  if (parent.array !== undefined) parent.array.push(array ?? object);
  else put(reader, parent, name, array ?? object);
  reader.builders.push({ name, array, object, keys: 0, after: "start" });
  reader.groupStart = open + 1;
  reader.groupKeys = reader.openKeys[reader.builders.length]!;
}

/**
 * Skips the comma after a container that was filled separately. False: nothing comes before
 * `end`.
 */
function passComma(reader: LongReader, end: number): boolean {
  const builder = reader.builders.at(-1)!;
  if (builder.after !== "container") return true;
  let at = reader.groupStart;
  while (at < end && isSpace(reader.text.charCodeAt(at))) at++;
  if (at === end) return false;
  if (reader.text.charCodeAt(at) !== COMMA) refuseAfterContainer(reader, end);
  reader.groupStart = at + 1;
  builder.after = "comma";
  return true;
}

function readKey(reader: LongReader, before: string): string {
  try {
    return Object.keys(JSON.parse(`{${before}[]}`))[0]!;
  } catch {
    return refuseGroup(reader, before);
  }
}

function checkBlank(reader: LongReader, before: string, index: number): string {
  if (!isBlank(before)) refuseGroup(reader, before);
  return String(index);
}

function closeBuilder(reader: LongReader, at: number, code: number): void {
  const builder = reader.builders.at(-1)!;
  if ((code === CLOSE_BRACKET) !== (builder.array !== undefined)) {
    refuseGroup(reader, reader.text.slice(reader.groupStart, at + 1));
  }
  flush(reader, at, reader.keys, true);
  reader.builders.pop();
  const parent = reader.builders.at(-1);
  if (parent !== undefined) parent.after = "container";
  reader.groupStart = at + 1;
  reader.groupKeys = reader.keys;
}

/** Parses the group, which ends before the comma or bracket at `end`. */
function flush(reader: LongReader, end: number, keys: number, isLast = false): void {
  const builder = reader.builders.at(-1)!;
  const { array } = builder;
  if (!passComma(reader, end)) return;
  const group = reader.text.slice(reader.groupStart, end);
  if (isBlank(group)) {
    if (isLast && builder.after === "start") return;
    const wanted = array === undefined ? "a key in double quotes" : "a value";
    refuse(`Malformed JSON at position ${end}: ${wanted} expected`);
  }
  const whole = array === undefined ? `{${group}}` : `[${group}]`;
  let value: JsonObject | JsonValue[];
  try {
    value = JSON.parse(whole);
  } catch {
    refuseGroup(reader, group, whole);
  }
  if (reader.doubtfulAt >= reader.groupStart || keys - reader.groupKeys !== countKeys(value)) {
    refuseFault(reader, whole);
  }
  if (array !== undefined) { for (const element of value as JsonValue[]) array.push(element); }
  else for (const key of Object.keys(value)) put(reader, builder, key, (value as JsonObject)[key]!);
}

function put(reader: LongReader, builder: Builder, key: string, value: JsonValue): void {
  const { object } = builder;
  if (Object.hasOwn(object, key)) {
    refuse(`Duplicate key in JSON object: ${key}`, [...pathOf(reader), key].join("."));
  }
  if (++builder.keys > limits.jsonObjectKeysMax) {
    const limit = limits.jsonObjectKeysMax;
    const path = pathOf(reader).join(".");
    refuseTooLarge(`An object has more than ${limit} keys`, { limit, path });
  }
  if (key !== "__proto__") object[key] = value;
  else {
    const property = { value, writable: true, enumerable: true, configurable: true };
    Object.defineProperty(object, key, property);
  }
}

function pathOf(reader: LongReader): string[] {
  return reader.builders.slice(1).map(({ name }) => name);
}

/** `whole` is the group in the brackets of its container. */
function refuseFault(reader: LongReader, whole: string): void {
  const offset = reader.groupStart - 1;
  const firstIndex = reader.builders.at(-1)!.array?.length ?? 0;
  const fault = findJsonFault(whole, { offset, path: pathOf(reader), firstIndex });
  if (fault !== undefined) refuse(fault.message, fault.path);
}

/** For a group that is not JSON; if it was cut off, the fault says so. */
function refuseGroup(reader: LongReader, group: string, whole?: string): never {
  const isArray = reader.builders.at(-1)!.array !== undefined;
  refuseFault(reader, whole ?? (isArray ? "[" : "{") + group);
  refuse(`${reader.subject} is not valid JSON`);
}

function refuseAfterContainer(reader: LongReader, end: number): never {
  const close = reader.builders.at(-1)!.array === undefined ? "}" : "]";
  let at = reader.groupStart;
  while (at < end && isSpace(reader.text.charCodeAt(at))) at++;
  refuse(`Malformed JSON at position ${at}: ',' or '${close}' expected`);
}

/** The text has ended before its root. */
function refuseEnd(reader: LongReader): never {
  const builder = reader.builders.at(-1);
  const end = reader.text.length;
  if (builder === undefined) refuse(`Malformed JSON at position ${end}: unexpected end`);
  if (!passComma(reader, end)) refuseAfterContainer(reader, end);
  refuseGroup(reader, reader.text.slice(reader.groupStart));
}

function skipEnd(reader: LongReader, stop: number): void {
  for (; reader.at < stop; reader.at++) {
    if (isSpace(reader.text.charCodeAt(reader.at))) continue;
    refuse(`Malformed JSON at position ${reader.at}: end of the text expected`);
  }
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

function isBlank(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    if (!isSpace(text.charCodeAt(at))) return false;
  }
  return true;
}

function refuse(message: string, path?: string): never {
  throw new Fault({ kind: "bad_request", message, ...(path !== undefined && { path }) });
}

function refuseTooLarge(message: string, more: { limit: number; path?: string }): never {
  throw new Fault({ kind: "payload_too_large", message, ...more });
}
