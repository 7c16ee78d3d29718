/**
 * Parses a long JSON text in time slices, as `json_text.ts` does at once for short ones.
 *
 * It scans the text once. As soon as enough has been seen, it parses the complete elements or
 * members as a group and adds them to their containers. So no step takes longer than a group,
 * and the values in a text are counted before memory is spent on them.
 */

import {
  countKeys,
  findNumberFault,
  type JsonObject,
  type JsonValue,
  putMember,
} from "../../domain/json.ts";
import { NAME_CHARACTERS_MAX, slowNames } from "../../domain/json_text/name_cost.ts";
import { limits } from "../../domain/limits.ts";
import type { Refusal } from "../../domain/refusal.ts";
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  closingQuote,
  COLON,
  COMMA,
  isBlank,
  isDigit,
  isExponentMark,
  isNumberCharacter,
  isSpace,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from "../../domain/json_text/json_characters.ts";
import { extend, placeOf, refill } from "./long_window.ts";
import {
  type Builder,
  Fault,
  type LongReader,
  pathOf,
  refuse,
  refuseAfterContainer,
  refuseFault,
  refuseGroup,
  refuseTooLarge,
} from "./long_reader.ts";
import { parseJson } from "../../domain/json_text/parse_json.ts";

/** Every integer of at most 15 digits is exact, so a shorter literal needs no second look. */
const SAFE_NUMBER_CHARACTERS = 15;

/** A key counts twice, and its value once. */
const NAMES_PER_LEVEL = 3;

const PLUS = 0x2b;
const MINUS = 0x2d;

/** Reads on. True: there is more; false: the text has been read; otherwise the fault. */
export function stepLong(reader: LongReader): boolean | Refusal {
  refill(reader);
  const stop = Math.min(reader.at + reader.groupCharacters, reader.text.length);
  try {
    if (reader.root === undefined) openRoot(reader, stop);
    if (reader.builders.length > 0) scan(reader, stop);
    if (reader.root !== undefined && reader.builders.length === 0) skipEnd(reader, stop);
    if (reader.at < reader.text.length || reader.blocks.length > 0) return true;
    if (reader.root === undefined || reader.builders.length > 0) refuseEnd(reader);
    return false;
  } catch (error) {
    if (error instanceof Fault) return error.refusal;
    throw error;
  }
}

function openRoot(reader: LongReader, stop: number): void {
  while (reader.at < stop && isSpace(reader.text.charCodeAt(reader.at))) reader.at++;
  reader.groupStart = reader.at;
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
  let { text, at } = reader;
  for (; at < stop; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(reader, at);
      text = reader.text;
    } else if (code === COMMA) {
      reader.nodes++;
      reader.commaAt[reader.depth] = at;
      reader.commaKeys[reader.depth] = reader.keys;
      if (isFull(reader, at)) flushUpTo(reader, at);
    } else if (code === COLON) {
      reader.keys++;
      reader.names++;
    } else if (isDigit(code)) {
      at = endOfNumber(reader, at);
      text = reader.text;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      enter(reader, at);
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      if (reader.depth === reader.builders.length) closeBuilder(reader, at, code);
      reader.depth--;
      if (reader.depth === 0) {
        reader.at = at + 1;
        return;
      }
    } else if (isSpace(code)) {
      at = endOfSpaces(reader, at, stop);
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
  const limit = limits.jsonStringCharactersMax;
  let close = quoteAfter(reader, open, limit);
  while (close >= reader.text.length && close - open - 1 <= limit && extend(reader)) {
    close = quoteAfter(reader, open, limit);
  }
  if (close - open - 1 > limit) {
    const message = `A string in ${reader.subject.toLowerCase()} exceeds ${limit} characters`;
    refuseTooLarge(message, { limit });
  }
  if (close - open <= NAME_CHARACTERS_MAX + 1) reader.names++;
  return close;
}

/** The end of the string, or of what is known of it. */
function quoteAfter({ text }: LongReader, open: number, limit: number): number {
  return closingQuote(text, open, Math.min(text.length, open + limit + 2));
}

function endOfNumber(reader: LongReader, start: number): number {
  let at = start;
  // A longer number is refused, so its rest need not be read.
  const last = start + limits.jsonNumberCharactersMax;
  while (at < last && isNumberCharacter(codeAt(reader, at + 1))) at++;
  const hasExponent = isExponentMark(codeAt(reader, at + 1));
  if (hasExponent) at = endOfExponent(reader, at + 1, last);
  if (at - start >= limits.jsonNumberCharactersMax) {
    refuseGroup(reader, reader.text.slice(reader.groupStart, at + 1));
  }
  const isFirst = reader.faultyAt < reader.groupStart;
  if (isFirst && (hasExponent || at - start >= SAFE_NUMBER_CHARACTERS)) {
    if (findNumberFault(reader.text.slice(start, at + 1)) !== undefined) reader.faultyAt = start;
  }
  return at;
}

function endOfExponent(reader: LongReader, mark: number, last: number): number {
  let at = mark;
  const sign = codeAt(reader, at + 1);
  if (sign === PLUS || sign === MINUS) at++;
  while (at < last && isDigit(codeAt(reader, at + 1))) at++;
  return at;
}

/** NaN behind the end of the whole text. */
function codeAt(reader: LongReader, at: number): number {
  while (at >= reader.text.length && extend(reader));
  return reader.text.charCodeAt(at);
}

/** The end of the white space, up to the end of the step. */
function endOfSpaces(reader: LongReader, start: number, stop: number): number {
  let at = start;
  while (at + 1 < stop && isSpace(reader.text.charCodeAt(at + 1))) at++;
  if (at - start >= reader.spacesKept) reader.spaces.push({ from: start + 1, to: at + 1 });
  return at;
}

function enter(reader: LongReader, at: number): void {
  if (isFull(reader, at)) flushUpTo(reader, at);
  reader.nodes++;
  const depth = ++reader.depth;
  if (depth > limits.jsonDepthMax) {
    refuseGroup(reader, reader.text.slice(reader.groupStart, at + 1));
  }
  reader.openAt[depth] = at;
  reader.openKeys[depth] = reader.keys;
  reader.commaAt[depth] = -1;
}

/** Whether the group, which goes up to `at`, has as much as may be parsed at once. */
function isFull(reader: LongReader, at: number): boolean {
  return at - reader.groupStart >= reader.groupCharacters ||
    reader.names - reader.parsedNames >= reader.cost.namesAtOnce;
}

/** Parses what is complete before `at`, and opens containers that have become too long. */
function flushUpTo(reader: LongReader, at: number): void {
  while (isFull(reader, at)) {
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
  if (parent.array !== undefined) putAll(reader, parent.array, [array ?? object]);
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
    return Object.keys(parseJson(`{${before}[]}`))[0]!;
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
    refuse(`Malformed JSON at position ${placeOf(reader, end)}: ${wanted} expected`);
  }
  // Of JSON, no group has more: it would have been parsed at one of its commas.
  const mostNames = reader.cost.namesAtOnce + NAMES_PER_LEVEL * limits.jsonDepthMax;
  if (reader.names - reader.parsedNames > mostNames) {
    refuseFault(reader, end);
    refuse(`${reader.subject} is not valid JSON`);
  }
  let parsed: JsonValue | undefined;
  try {
    const whole = array === undefined ? `{${group}}` : `[${group}]`;
    parsed = reader.cost.parse(whole, reader.names - reader.parsedNames);
  } catch {
    refuseFault(reader, end);
    refuse(`${reader.subject} is not valid JSON`);
  }
  if (parsed === undefined) refuse(slowNames(reader.subject));
  reader.parsedNames = reader.names;
  const value = parsed as JsonObject | JsonValue[];
  const hasFaulty = reader.faultyAt >= reader.groupStart && reader.faultyAt < end;
  if (hasFaulty || keys - reader.groupKeys !== countKeys(value)) refuseFault(reader, end);
  if (array !== undefined) putAll(reader, array, value as JsonValue[]);
  else for (const key of Object.keys(value)) put(reader, builder, key, (value as JsonObject)[key]!);
}

/** A list of a million items would be copied whole whenever it has to grow. */
function putAll(reader: LongReader, array: JsonValue[], values: readonly JsonValue[]): void {
  const limit = limits.jsonListItemsMax;
  if (array.length + values.length > limit) {
    refuseTooLarge(`A list has more than ${limit} items`, {
      limit,
      path: pathOf(reader).join("."),
    });
  }
  for (const value of values) array.push(value);
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
  putMember(object, key, value);
}

/** The text has ended before its root. */
function refuseEnd(reader: LongReader): never {
  const builder = reader.builders.at(-1);
  const end = reader.text.length;
  if (builder === undefined) {
    refuse(`Malformed JSON at position ${placeOf(reader, end)}: unexpected end`);
  }
  if (!passComma(reader, end)) refuseAfterContainer(reader, end);
  refuseGroup(reader, reader.text.slice(reader.groupStart));
}

function skipEnd(reader: LongReader, stop: number): void {
  for (; reader.at < stop; reader.at++) {
    if (isSpace(reader.text.charCodeAt(reader.at))) continue;
    const place = placeOf(reader, reader.at);
    refuse(`Malformed JSON at position ${place}: end of the text expected`);
  }
  reader.groupStart = reader.at;
}
