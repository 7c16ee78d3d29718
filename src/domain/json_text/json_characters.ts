/** The characters of JSON texts, for those who look at each of them. */

export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_BRACKET = 0x5b;
export const CLOSE_BRACKET = 0x5d;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;
const BACKSLASH = 0x5c;

export function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** A digit or a decimal point. */
export function isNumberCharacter(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || code === 0x2e;
}

/** The letter before the exponent of a number. */
export function isExponentMark(code: number): boolean {
  return code === 0x65 || code === 0x45;
}

/**
 * The end of the string that opens at `open`; `end` if it does not close before. A search for
 * quotes is faster than a look at each character, above all in a text that was put together.
 */
export function closingQuote(text: string, open: number, end: number = text.length): number {
  // Bounded: by the text, of which no character is looked at twice; so is the loop within.
  for (let at = text.indexOf('"', open + 1); at >= 0 && at < end; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return at;
  }
  return end;
}

export function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

export function isBlank(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    if (!isSpace(text.charCodeAt(at))) return false;
  }
  return true;
}

/** A key of an object. */
export interface FieldName {
  readonly name: string;
  /** 1 for the fields of the text's own object. */
  readonly depth: number;
}

/**
 * The names in a text that has not been parsed, in order. Of a text that is not JSON, at least
 * those up to its first fault.
 */
export function* fieldNamesIn(text: string): Generator<FieldName, void, void> {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x7b || code === 0x5b) depth++;
    else if (code === 0x7d || code === 0x5d) depth--;
    if (code !== QUOTE) continue;
    const close = closingQuote(text, at);
    const literal = text.slice(at, close + 1);
    at = close;
    while (isSpace(text.charCodeAt(at + 1))) at++;
    if (text.charCodeAt(at + 1) === COLON) yield { name: unescaped(literal), depth };
  }
}

/** Parsed as a value: of those, the runtime keeps none that is written with escapes. */
function unescaped(literal: string): string {
  if (!literal.includes("\\")) return literal.slice(1, -1);
  try {
    return JSON.parse(literal);
  } catch {
    return literal.slice(1, -1);
  }
}
