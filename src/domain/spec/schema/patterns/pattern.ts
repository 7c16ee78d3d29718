/**
 * Regular expressions of schemas: ECMA-262 patterns on an engine that takes linear time.
 *
 * Constructs without a linear form (lookaround, back references) are refused at deploy. A
 * pattern is read as with the `u` flag, so it matches by code point. In addition, a backslash
 * before any ASCII punctuation is accepted (`\-`, `\@`), because most existing schemas are
 * written that way.
 */

import { RE2JS } from "re2js";
import { classText, propertyRanges, type Range, SHORTHANDS } from "./character_class.ts";
import { chargedPattern, type LinearPattern } from "./pattern_charge.ts";
import { createUnrolledSize, type UnrolledSize } from "./unrolled_size.ts";

export type PatternCompilation =
  & (
    | { readonly ok: true; readonly pattern: LinearPattern }
    | { readonly ok: false; readonly message: string; readonly hint: string }
  )
  /** The work of compiling, in instructions: about 20 microseconds each, even if it failed. */
  & { readonly work: number };

/** Limits that keep both compiling and matching cheap. */
const CHARACTERS_MAX = 2_000;
const REPEAT_MAX = 1_000;
const SIZE_MAX = 2_500;
/** Characters of the translation, in which a class is written out as all its ranges. */
const LINEAR_CHARACTERS_MAX = 200_000;
/** Characters of the translation that take as long as one instruction. */
const LINEAR_CHARACTERS_PER_INSTRUCTION = 200;

/** The work of the smallest pattern, in instructions. */
const WORK_MIN = 10;

/** Thrown and caught in this file only. */
class PatternFault extends Error {
  readonly hint: string;
  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

/** Translates and compiles one pattern; never throws. */
export function compilePattern(source: string): PatternCompilation {
  let work = WORK_MIN + source.length / LINEAR_CHARACTERS_PER_INSTRUCTION;
  try {
    if (source.length > CHARACTERS_MAX) {
      throw new PatternFault(
        `is longer than ${CHARACTERS_MAX} characters`,
        "Check the value with several keywords, for example allOf, enum or maxLength.",
      );
    }
    const linear = translate(source);
    const compiled = compileLinear(linear);
    const size = compiled.programSize();
    work = WORK_MIN + size + linear.length / LINEAR_CHARACTERS_PER_INSTRUCTION;
    if (size > SIZE_MAX) {
      throw new PatternFault("is too large once its repeats are unrolled", SMALLER);
    }
    return { ok: true, pattern: chargedPattern(compiled.re2(), size), work };
  } catch (error) {
    if (!(error instanceof PatternFault)) throw error;
    return { ok: false, message: error.message, hint: error.hint, work };
  }
}

const SMALLER = "Use smaller repeat counts; check lengths with minLength and maxLength.";
const ECMA = "Patterns are ECMA-262 regular expressions.";

function compileLinear(text: string): RE2JS {
  try {
    return RE2JS.compile(text);
  } catch (error) {
    throw new PatternFault(`cannot be compiled: ${(error as Error).message}`, SMALLER);
  }
}

/** The reading position in the source, and the output so far in both dialects. */
interface Reader {
  readonly source: string;
  at: number;
  readonly linear: string[];
  /** The same pattern in strict ECMA-262, which the syntax check uses. */
  readonly ecma: string[];
  linearCharacters: number;
  readonly unrolled: UnrolledSize;
}

function translate(source: string): string {
  const unrolled = createUnrolledSize();
  const reader: Reader = { source, at: 0, linear: [], ecma: [], linearCharacters: 0, unrolled };
  while (reader.at < source.length) translateNext(reader);
  // Checked before the engine unrolls the repeats, which may be far too many.
  if (unrolled.total() > SIZE_MAX) {
    throw new PatternFault("is too large once its repeats are unrolled", SMALLER);
  }
  checkEcmaSyntax(reader.ecma.join(""));
  return reader.linear.join("");
}

function checkEcmaSyntax(source: string): void {
  try {
    new RegExp(source, "u");
  } catch (error) {
    const reason = (error as Error).message.split(": ").at(-1);
    throw new PatternFault(`is not a regular expression (${reason})`, ECMA);
  }
}

function emit(reader: Reader, linear: string, ecma: string): void {
  reader.linear.push(linear);
  reader.ecma.push(ecma);
  reader.linearCharacters += linear.length;
  if (reader.linearCharacters > LINEAR_CHARACTERS_MAX) {
    throw new PatternFault("has too many classes of characters", "Use fewer \\p{...} classes.");
  }
}

function translateNext(reader: Reader): void {
  const { source, at } = reader;
  if (!"(){*+?|^$".includes(source[at]!)) reader.unrolled.atom();
  switch (source[at]) {
    case "\\":
      return translateEscape(reader);
    case "[":
      return translateClass(reader);
    case "(":
      return translateGroup(reader);
    case "{":
      return translateRepeat(reader);
    case ".":
      reader.at++;
      return emit(reader, "[^\\n\\r\\x{2028}\\x{2029}]", ".");
    case ")":
      reader.unrolled.close();
      reader.at++;
      return emit(reader, ")", ")");
    case "^":
    case "$":
    case "|":
    case "*":
    case "+":
    case "?":
    case "]":
    case "}":
      reader.at++;
      return emit(reader, source[at]!, source[at]!);
    default: {
      const point = source.codePointAt(at)!;
      reader.at += point > 0xffff ? 2 : 1;
      return emitCodePoint(reader, point);
    }
  }
}

function emitCodePoint(reader: Reader, point: number): void {
  const hex = point.toString(16);
  emit(reader, `\\x{${hex}}`, `\\u{${hex}}`);
}

function emitRanges(reader: Reader, ranges: readonly Range[], ecma: string): void {
  emit(reader, classText(ranges), ecma);
}

function translateGroup(reader: Reader): void {
  const rest = reader.source.slice(reader.at, reader.at + 4);
  if (/^\(\?<?[=!]/.test(rest)) {
    throw new PatternFault(
      "uses a lookaround, which cannot be matched in linear time",
      "Say it with several keywords: allOf with several patterns, or not with a pattern.",
    );
  }
  const name = /^\(\?<[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*>/u
    .exec(reader.source.slice(reader.at));
  const opening = name?.[0] ?? (rest.startsWith("(?:") ? "(?:" : "(");
  if (opening === "(" && rest.startsWith("(?")) {
    throw new PatternFault("uses an inline flag or an unknown kind of group", ECMA);
  }
  reader.at += opening.length;
  reader.unrolled.open();
  // Nothing is ever captured, and plain groups are cheaper.
  emit(reader, "(?:", opening);
}

function translateRepeat(reader: Reader): void {
  const count = /^\{(\d+)(?:,(\d*))?\}/.exec(reader.source.slice(reader.at, reader.at + 40));
  if (count === null) {
    throw new PatternFault(
      'has a "{" that begins no repeat',
      "Write \\{ for the character itself.",
    );
  }
  if (Number(count[1]) > REPEAT_MAX || Number(count[2] ?? 0) > REPEAT_MAX) {
    throw new PatternFault(`repeats more than ${REPEAT_MAX} times`, SMALLER);
  }
  reader.at += count[0].length;
  reader.unrolled.repeat(Math.max(1, Number(count[1]), Number(count[2] ?? 0)));
  emit(reader, count[0], count[0]);
}

function translateEscape(reader: Reader): void {
  const next = reader.source[reader.at + 1];
  if (next === "b" || next === "B") {
    reader.at += 2;
    return emit(reader, `\\${next}`, `\\${next}`);
  }
  const atom = readEscape(reader);
  if (typeof atom === "number") emitCodePoint(reader, atom);
  else emitRanges(reader, atom.ranges, atom.ecma);
}

interface RangeAtom {
  readonly ranges: readonly Range[];
  readonly ecma: string;
}

const CONTROL: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13 };

/** Reads one escape, inside a class or outside: a code point or a set of them. */
function readEscape(reader: Reader): number | RangeAtom {
  const { source, at } = reader;
  const letter = source[at + 1];
  if (letter === undefined) throw new PatternFault("ends with a backslash", ECMA);
  const rest = source.slice(at, at + 80);
  const shorthand = SHORTHANDS.get(letter);
  if (shorthand !== undefined) {
    reader.at += 2;
    return { ranges: shorthand, ecma: `\\${letter}` };
  }
  if (letter === "p" || letter === "P") return readProperty(reader, rest);
  if (/[1-9k]/.test(letter)) {
    throw new PatternFault(
      "uses a back reference, which cannot be matched in linear time",
      "Write the repeated part out, or check it in the handler.",
    );
  }
  const coded = readCodedEscape(rest);
  if (coded !== undefined) {
    reader.at += coded.length;
    return coded.point;
  }
  if (/[A-Za-z0-9]/.test(letter) || letter > "~") {
    throw new PatternFault(`has the unknown escape \\${letter}`, ECMA);
  }
  reader.at += 2;
  return letter.charCodeAt(0);
}

function readCodedEscape(rest: string): { point: number; length: number } | undefined {
  const letter = rest[1]!;
  if (Object.hasOwn(CONTROL, letter)) return { point: CONTROL[letter]!, length: 2 };
  if (letter === "0" && !/^[0-9]/.test(rest.slice(2))) return { point: 0, length: 2 };
  const control = /^\\c([A-Za-z])/.exec(rest);
  if (control !== null) return { point: control[1]!.charCodeAt(0) % 32, length: 3 };
  const pair = /^\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})/.exec(rest);
  if (pair !== null) {
    const text = String.fromCharCode(parseInt(pair[1]!, 16), parseInt(pair[2]!, 16));
    return { point: text.codePointAt(0)!, length: 12 };
  }
  const hex = /^\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{0*([0-9a-fA-F]{1,6})\})/.exec(rest);
  if (hex === null) return undefined;
  const point = parseInt(hex[1] ?? hex[2] ?? hex[3]!, 16);
  return point > 0x10ffff ? undefined : { point, length: hex[0].length };
}

function readProperty(reader: Reader, rest: string): RangeAtom {
  const escape = /^\\[pP]\{[A-Za-z0-9_=]{1,60}\}/.exec(rest)?.[0];
  const ranges = escape === undefined ? undefined : propertyRanges(escape);
  if (escape === undefined || ranges === undefined) {
    throw new PatternFault(
      "names an unknown Unicode property",
      "For example \\p{L} or \\p{Script=Greek}.",
    );
  }
  reader.at += escape.length;
  return { ranges, ecma: escape };
}

function translateClass(reader: Reader): void {
  const { source } = reader;
  const ranges: Range[] = [];
  reader.at++;
  const negated = source[reader.at] === "^";
  if (negated) reader.at++;
  const ecma = [negated ? "[^" : "["];
  while (source[reader.at] !== "]") {
    if (reader.at >= source.length) throw new PatternFault('has a "[" that is never closed', ECMA);
    readClassItem(reader, ranges, ecma);
  }
  reader.at++;
  emit(reader, classText(ranges, negated), ecma.join("") + "]");
}

function readClassItem(reader: Reader, ranges: Range[], ecma: string[]): void {
  const first = readClassAtom(reader);
  const { source, at } = reader;
  const isRange = source[at] === "-" && at + 1 < source.length && source[at + 1] !== "]";
  if (typeof first !== "number") {
    // `[\w-.]`: a hyphen next to a set can only mean itself.
    ranges.push(...first.ranges);
    ecma.push(first.ecma);
    return;
  }
  if (!isRange) return pushRange([first, first], ranges, ecma);
  reader.at++;
  const last = readClassAtom(reader);
  if (typeof last !== "number") {
    pushRange([first, first], ranges, ecma);
    pushRange([0x2d, 0x2d], ranges, ecma);
    ranges.push(...last.ranges);
    ecma.push(last.ecma);
  } else if (last < first) {
    throw new PatternFault("has a range of characters that is out of order", ECMA);
  } else pushRange([first, last], ranges, ecma);
}

function pushRange(range: Range, ranges: Range[], ecma: string[]): void {
  ranges.push(range);
  ecma.push(`\\u{${range[0].toString(16)}}-\\u{${range[1].toString(16)}}`);
}

function readClassAtom(reader: Reader): number | RangeAtom {
  const { source, at } = reader;
  if (source[at] === "\\") {
    if (source[at + 1] !== "b") return readEscape(reader);
    reader.at += 2;
    return 8;
  }
  const point = source.codePointAt(at)!;
  reader.at += point > 0xffff ? 2 : 1;
  return point;
}
