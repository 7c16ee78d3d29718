/**
 * Parses JSON text so that each key is the one that was written.
 *
 * `JSON.parse` of the runtime's V8 does not promise that: where an object is about to get the shape
 * of an earlier one, it compares the next key with the known one before it has read the escapes.
 * Once anybody has sent {"a":1,"\\":2}, the second key of {"a":1,"\n":2} becomes a backslash
 * (https://issues.chromium.org/issues/521080746, seen from V8 13.6 to 15.0). Keys with escapes are
 * rare, so texts that have some are read here, and all others by `JSON.parse`.
 */

import { type JsonObject, type JsonValue, putMember } from "../json.ts";
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  closingQuote,
  COLON,
  COMMA,
  isSpace,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from "./json_characters.ts";

const BACKSLASH = "\\";
const LITERALS: Readonly<Record<string, JsonValue>> = { true: true, false: false, null: null };

/**
 * The value of the text, of the type that the caller knows it to have.
 * @throws SyntaxError
 */
export function parseJson<T = JsonValue>(text: string): T {
  return hasEscapedKey(text) ? readEscaped(text) as T : JSON.parse(text);
}

/** Exact for JSON. Of any other text it means nothing. */
function hasEscapedKey(text: string): boolean {
  let at = text.indexOf(BACKSLASH);
  // Bounded: by the text, as parsing it is; so are the loops below.
  while (at >= 0) {
    const close = closingQuote(text, at - 1);
    if (isKey(text, close)) return true;
    at = text.indexOf(BACKSLASH, close);
  }
  return false;
}

/** Whether the string whose closing quote is at `close` is a key. */
function isKey(text: string, close: number): boolean {
  let at = close + 1;
  while (isSpace(text.charCodeAt(at))) at++;
  return text.charCodeAt(at) === COLON;
}

/** A container that is open. */
interface Container {
  readonly value: JsonObject | JsonValue[];
  /** The key of the next member, if it is an object. */
  key: string;
}

function readEscaped(text: string): JsonValue {
  // Throws if the text is malformed; what follows relies on that.
  JSON.parse(text);
  const root: JsonValue[] = [];
  const open: Container[] = [{ value: root, key: "" }];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === COMMA || code === COLON || isSpace(code)) continue;
    if (code === CLOSE_BRACE || code === CLOSE_BRACKET) open.pop();
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      const value = code === OPEN_BRACE ? {} : [];
      put(open.at(-1)!, value);
      open.push({ value, key: "" });
    } else if (code === QUOTE) {
      const close = closingQuote(text, at);
      const string: string = JSON.parse(text.slice(at, close + 1));
      if (isKey(text, close)) open.at(-1)!.key = string;
      else put(open.at(-1)!, string);
      at = close;
    } else {
      const end = endOfLiteral(text, at);
      const literal = text.slice(at, end);
      const known = LITERALS[literal];
      put(open.at(-1)!, known === undefined ? Number(literal) : known);
      at = end - 1;
    }
  }
  return root[0]!;
}

function endOfLiteral(text: string, start: number): number {
  let at = start;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === COMMA || code === CLOSE_BRACE || code === CLOSE_BRACKET || isSpace(code)) break;
  }
  return at;
}

function put({ value: container, key }: Container, value: JsonValue): void {
  if (Array.isArray(container)) container.push(value);
  else putMember(container, key, value);
}
