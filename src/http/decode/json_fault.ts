/**
 * Finds the exact fault in a JSON text; slow, so it runs only for suspicious texts.
 *
 * It finds the first place where a text is malformed, nested too deeply, repeats a key, or
 * holds a number that would change in a double. `json_text.ts` calls it for texts that failed
 * to parse or look suspicious. `jsonc-parser` walks through the text. See
 * docs/reference/writing.md.
 */

import { type JSONVisitor, printParseErrorCode, visit } from "jsonc-parser";
import { limits } from "../../domain/limits.ts";

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

type Path = readonly (string | number)[];

/** An object or array that is open. */
interface Container {
  /** What must follow its beginning or a comma. */
  readonly member: string;
  /** What must follow a member. */
  readonly next: string;
  readonly keys: Set<string>;
}

/** Ends the search; caught in {@link findJsonFault}. */
class Found extends Error {
  constructor(readonly fault: JsonFault) {
    super();
  }
}

const VALUE = "a value";
const KEY = "a key in double quotes";
const WHOLE: TextPlace = { offset: 0, path: [], firstIndex: 0 };

/** The first fault of `text`; undefined if a reader that uses doubles loses nothing. */
export function findJsonFault(text: string, place: TextPlace = WHOLE): JsonFault | undefined {
  try {
    visit(text, faultFinder(text, place), { disallowComments: true });
  } catch (error) {
    if (error instanceof Found) return error.fault;
    throw error;
  }
  return undefined;
}

/** The library says where a text is malformed; what it expected follows from what came before. */
function faultFinder(text: string, place: TextPlace): JSONVisitor {
  const open: Container[] = [];
  let expected = VALUE;

  function refuse(message: string, inner: Path): never {
    const [first] = inner;
    const begin = typeof first === "number" ? [first + place.firstIndex] : inner.slice(0, 1);
    const path = [...place.path, ...begin, ...inner.slice(1)].join(".");
    throw new Found({ message, ...(path !== "" && { path }) });
  }

  function refuseMalformed(at: number, reason?: string): never {
    const isCutOff = at === text.length && expected === VALUE;
    const shown = reason ?? (isCutOff ? "unexpected end" : `${expected} expected`);
    throw new Found({ message: `Malformed JSON at position ${place.offset + at}: ${shown}` });
  }

  function enter(member: string, close: string, path: () => Path): void {
    if (place.path.length + open.length >= limits.jsonDepthMax) {
      refuse(`JSON is nested deeper than ${limits.jsonDepthMax} levels`, path());
    }
    open.push({ member, next: `',' or '${close}'`, keys: new Set() });
    expected = member;
  }

  function leave(at: number): void {
    if (at === text.length) refuseMalformed(at);
    open.pop();
    afterValue();
  }

  function afterValue(): void {
    expected = open.at(-1)?.next ?? "end of the text";
  }

  return {
    onObjectBegin: (_at, _length, _line, _column, path) => enter(KEY, "}", path),
    onArrayBegin: (_at, _length, _line, _column, path) => enter(VALUE, "]", path),
    onObjectEnd: leave,
    onArrayEnd: leave,
    onObjectProperty(key, _at, _length, _line, _column, path) {
      const { keys } = open.at(-1)!;
      if (keys.has(key)) refuse(`Duplicate key in JSON object: ${key}`, [...path(), key]);
      keys.add(key);
      expected = "':'";
    },
    onSeparator(separator) {
      expected = separator === ":" ? VALUE : open.at(-1)!.member;
    },
    onLiteralValue(value, at, length, _line, _column, path) {
      if (typeof value === "number") {
        const message = findNumberFault(text.slice(at, at + length));
        if (message !== undefined) refuse(message, path());
      }
      afterValue();
    },
    onError(code, at, length) {
      if (text[at] === '"' && (expected === VALUE || expected === KEY)) {
        refuseMalformed(...stringFault(text, at));
      }
      const isCutNumber = printParseErrorCode(code) === "UnexpectedEndOfNumber";
      if (isCutNumber && expected === VALUE) refuseMalformed(at + length, "a digit expected");
      refuseMalformed(at);
    },
  };
}

/** A string without its closing quote, as far as it is right. */
const RIGHT_PART = /"(?:[ !#-[\]-\uffff]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*/y;

/** The library names the string only, not the place in it. */
function stringFault(text: string, start: number): [at: number, reason: string] {
  RIGHT_PART.lastIndex = start;
  RIGHT_PART.test(text);
  const at = RIGHT_PART.lastIndex;
  if (at === text.length) return [at, "unterminated string"];
  return [
    at,
    text[at] === "\\" ? "unknown escape sequence" : "a control character must be escaped",
  ];
}

/** A number of JSON: its sign, digits, fraction and exponent. */
const LITERAL = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;
/** From here on, doubles have no fractions. */
const FRACTIONS_END = 2 ** 53;
const ZERO = 0x30;

/**
 * The value of a decimal text: `digits` (without leading or trailing zeros) times 10 to
 * `exponent`.
 */
interface Decimal {
  readonly sign: string;
  readonly digits: string;
  readonly exponent: number;
}

/**
 * The reason why `literal`, a well-formed JSON number, would change as a double; undefined if
 * it would not. Its value must equal that of the text that `JSON.stringify` writes for it.
 * Numbers below 2^53 with a fraction are exempt, since every JSON reader rounds them.
 */
export function findNumberFault(literal: string): string | undefined {
  const limit = limits.jsonNumberCharactersMax;
  if (literal.length > limit) return `Number has more than ${limit} characters`;
  const value = Number(literal);
  if (!Number.isFinite(value)) return "Number is beyond the range of a double";
  const sent = decimalOf(literal);
  const kept = decimalOf(String(value));
  if (isSame(sent, kept) || isSmallFraction(sent)) return undefined;
  return `Number cannot be held by a double, the nearest is ${value}: send that, or a string`;
}

function decimalOf(literal: string): Decimal {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = LITERAL.exec(literal) ?? [];
  const { digits, trailingZeros } = trimZeros(whole + fraction);
  if (digits === "") return { sign: "", digits, exponent: 0 };
  return { sign, digits, exponent: Number(exponent) - fraction.length + trailingZeros };
}

function isSame(one: Decimal, other: Decimal): boolean {
  return one.digits === other.digits && one.exponent === other.exponent && one.sign === other.sign;
}

function isSmallFraction({ digits, exponent }: Decimal): boolean {
  if (exponent >= 0) return false;
  // Rounding the integer part cannot move it across 2^53, which is itself a double.
  return Number(digits.slice(0, Math.max(0, digits.length + exponent))) < FRACTIONS_END;
}

/** By hand: a regular expression for trailing zeros takes quadratic time on hostile digits. */
function trimZeros(text: string): { digits: string; trailingZeros: number } {
  let start = 0;
  while (text.charCodeAt(start) === ZERO) start++;
  let end = text.length;
  while (end > start && text.charCodeAt(end - 1) === ZERO) end--;
  return { digits: text.slice(start, end), trailingZeros: text.length - end };
}
