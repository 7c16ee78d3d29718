/** Surveys JSON texts character by character, without parsing them. */

import type { JsonValue } from "../../domain/json.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
/** Every integer of at most 15 digits is exact, so a shorter literal needs no second look. */
const SAFE_NUMBER_CHARACTERS = 15;

/** The facts that one pass over a JSON text yields without parsing it. */
export interface TextSurvey {
  /** Colons outside strings: the number of keys, including repeated ones. */
  readonly keys: number;
  readonly depth: number;
  /** Whether a number is so long, or has an exponent, that a double may not hold it. */
  readonly doubtfulNumber: boolean;
}

/** Exact for valid JSON. For any other text the numbers mean nothing, but the pass still ends. */
export function surveyText(text: string): TextSurvey {
  let keys = 0;
  let open = 0;
  let depth = 0;
  let doubtfulNumber = false;
  const end = text.length;
  const hasEscapes = text.includes("\\");
  for (let at = 0; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const close = hasEscapes ? closingQuote(text, at) : text.indexOf('"', at + 1);
      at = close < 0 ? end : close;
    } else if (code === COLON) {
      keys++;
    } else if (code >= 0x30 && code <= 0x39) {
      const start = at;
      while (isNumberCharacter(text.charCodeAt(at + 1))) at++;
      if (at - start >= SAFE_NUMBER_CHARACTERS) doubtfulNumber = true;
    } else if (code === 0x7b || code === 0x5b) {
      if (++open > depth) depth = open;
    } else if (code === 0x7d || code === 0x5d) {
      open--;
    } else if (code === 0x65 || code === 0x45) {
      // An exponent follows a digit; the letter e of `true` and `false` does not.
      if (isDigit(text.charCodeAt(at - 1))) doubtfulNumber = true;
    }
  }
  return { keys, depth, doubtfulNumber };
}

export function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** A digit or a decimal point. */
export function isNumberCharacter(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || code === 0x2e;
}

/** As {@link closingQuote}, for a text without escapes: a search is faster than a loop. */
export function nextQuote(text: string, open: number): number {
  const at = text.indexOf('"', open + 1);
  return at < 0 ? text.length : at;
}

/** The end of the string that opens at `open`; `end` if it does not close before. */
export function closingQuote(text: string, open: number, end: number = text.length): number {
  let at = open + 1;
  for (; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at++;
  }
  return at;
}

/** Counts all keys of all objects in `value`, which nests at most `limits.jsonDepthMax` deep. */
export function countKeys(value: JsonValue): number {
  if (typeof value !== "object" || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const element of value) {
      if (typeof element === "object" && element !== null) count += countKeys(element);
    }
    return count;
  }
  for (const key in value) {
    count++;
    const member = value[key];
    if (typeof member === "object" && member !== null) count += countKeys(member);
  }
  return count;
}
