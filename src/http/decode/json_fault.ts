/**
 * Finds the exact fault in a JSON text; slow, so it runs only for suspicious texts.
 *
 * It finds the first place where a text is malformed, nested too deeply, repeats a key, or
 * holds a number that would change in a double. `json_text.ts` calls it for texts that failed
 * to parse or look suspicious.
 */

import { limits } from "../../domain/limits.ts";
import { findNumberFault } from "./number_text.ts";

export interface JsonFault {
  readonly message: string;
  /** Dotted, e.g. `data.lines.0.qty`; absent if the text cannot be read that far. */
  readonly path?: string;
}

/** The position of a text that is part of another one. */
export interface TextPlace {
  /** The offset of its first character. */
  readonly offset: number;
  /** The path of the container that it belongs to. */
  readonly path: readonly string[];
  /** The index of its first element, if it is an array. */
  readonly firstIndex: number;
}

interface Reader {
  readonly text: string;
  at: number;
  readonly path: string[];
  readonly place: TextPlace;
}

const WHOLE: TextPlace = { offset: 0, path: [], firstIndex: 0 };

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const WORDS = ["true", "false", "null"];

/** The first fault of `text`; undefined if a reader that uses doubles loses nothing. */
export function findJsonFault(text: string, place: TextPlace = WHOLE): JsonFault | undefined {
  const reader: Reader = { text, at: 0, path: [...place.path], place };
  const fault = readValue(reader);
  if (fault !== undefined) return fault;
  skipSpace(reader);
  return reader.at < text.length ? malformed(reader, "end of the text expected") : undefined;
}

function readValue(reader: Reader): JsonFault | undefined {
  skipSpace(reader);
  const character = reader.text[reader.at];
  if (character === "{") return readObject(reader);
  if (character === "[") return readArray(reader);
  if (character === '"') return readString(reader);
  for (const word of WORDS) {
    if (reader.text.startsWith(word, reader.at)) {
      reader.at += word.length;
      return undefined;
    }
  }
  return readNumber(reader);
}

function readObject(reader: Reader): JsonFault | undefined {
  if (reader.path.length >= limits.jsonDepthMax) return tooDeep(reader);
  reader.at++;
  if (takes(reader, "}")) return undefined;
  const seen = new Set<string>();
  do {
    skipSpace(reader);
    const start = reader.at;
    if (reader.text[start] !== '"') return malformed(reader, "a key in double quotes expected");
    const fault = readString(reader);
    if (fault !== undefined) return fault;
    const key: string = JSON.parse(reader.text.slice(start, reader.at));
    reader.path.push(key);
    if (seen.has(key)) return { message: `Duplicate key in JSON object: ${key}`, ...here(reader) };
    seen.add(key);
    if (!takes(reader, ":")) return malformed(reader, "':' expected");
    const inner = readValue(reader);
    if (inner !== undefined) return inner;
    reader.path.pop();
  } while (takes(reader, ","));
  return takes(reader, "}") ? undefined : malformed(reader, "',' or '}' expected");
}

function readArray(reader: Reader): JsonFault | undefined {
  if (reader.path.length >= limits.jsonDepthMax) return tooDeep(reader);
  let index = reader.at === 0 ? reader.place.firstIndex : 0;
  reader.at++;
  if (takes(reader, "]")) return undefined;
  do {
    reader.path.push(String(index++));
    const inner = readValue(reader);
    if (inner !== undefined) return inner;
    reader.path.pop();
  } while (takes(reader, ","));
  return takes(reader, "]") ? undefined : malformed(reader, "',' or ']' expected");
}

function readString(reader: Reader): JsonFault | undefined {
  const { text } = reader;
  reader.at++;
  while (reader.at < text.length) {
    const character = text[reader.at]!;
    if (character === '"') {
      reader.at++;
      return undefined;
    }
    if (character < " ") return malformed(reader, "a control character must be escaped");
    if (character === "\\") {
      ESCAPE.lastIndex = reader.at;
      if (!ESCAPE.test(text)) return malformed(reader, "unknown escape sequence");
      reader.at = ESCAPE.lastIndex;
    } else {
      reader.at++;
    }
  }
  return malformed(reader, "unterminated string");
}

function readNumber(reader: Reader): JsonFault | undefined {
  NUMBER.lastIndex = reader.at;
  const literal = NUMBER.exec(reader.text)?.[0];
  if (literal === undefined) {
    const ended = reader.at >= reader.text.length;
    return malformed(reader, ended ? "unexpected end" : "a value expected");
  }
  reader.at += literal.length;
  const message = findNumberFault(literal);
  return message === undefined ? undefined : { message, ...here(reader) };
}

function skipSpace(reader: Reader): void {
  while (" \t\n\r".includes(reader.text[reader.at] ?? "x")) reader.at++;
}

/** Skips white space, then consumes `character` if it is next. */
function takes(reader: Reader, character: string): boolean {
  skipSpace(reader);
  if (reader.text[reader.at] !== character) return false;
  reader.at++;
  return true;
}

function here(reader: Reader): { path?: string } {
  return reader.path.length === 0 ? {} : { path: reader.path.join(".") };
}

function tooDeep(reader: Reader): JsonFault {
  return { message: `JSON is nested deeper than ${limits.jsonDepthMax} levels`, ...here(reader) };
}

function malformed(reader: Reader, reason: string): JsonFault {
  const position = reader.place.offset + reader.at;
  return { message: `Malformed JSON at position ${position}: ${reason}` };
}
