/**
 * Regular expressions of schemas: ECMA-262 patterns on an engine that takes linear time.
 *
 * Constructs without a linear form (lookaround, back references) are refused at deploy. A
 * pattern is read as with the `u` flag, so it matches by code point. In addition, a backslash
 * before any ASCII punctuation is accepted (`\-`, `\@`), because most existing schemas are
 * written that way.
 */

import { type AST, RegExpParser, RegExpSyntaxError } from "@eslint-community/regexpp";
import { RE2JS } from "re2js";
import type { Steps } from "../../../fairness/pieces.ts";
import {
  classText,
  propertyRanges,
  propertyRangesSteps,
  type Range,
  SHORTHANDS,
} from "./character_class.ts";
import { chargedPattern, type LinearPattern } from "./pattern_charge.ts";

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
/** Ranges of all classes, which are sorted and merged: about 10 milliseconds. */
const RANGES_MAX = 20_000;
/** Ranges that take as long as one instruction. */
const RANGES_PER_INSTRUCTION = 40;

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

const PROPERTY = /\\[pP]\{[^}]*\}/g;

/**
 * Finds the code points of the properties that a pattern names, which are kept: about ten
 * milliseconds for each property that is new to this process. `compilePattern` needs them.
 */
export function* preparePatternSteps(source: string): Steps<void> {
  if (source.length > CHARACTERS_MAX) return;
  for (const [escape] of source.matchAll(PROPERTY)) {
    yield;
    yield* propertyRangesSteps(escape);
  }
}

/** Translates and compiles one pattern; never throws. */
export function compilePattern(source: string): PatternCompilation {
  const output: Output = { parts: [], characters: 0, ranges: 0 };
  let work = WORK_MIN + source.length / LINEAR_CHARACTERS_PER_INSTRUCTION;
  try {
    if (source.length > CHARACTERS_MAX) {
      throw new PatternFault(
        `is longer than ${CHARACTERS_MAX} characters`,
        "Check the value with several keywords, for example allOf, enum or maxLength.",
      );
    }
    const linear = translate(source, output);
    const compiled = compileLinear(linear);
    const size = compiled.programSize();
    work = WORK_MIN + size + workOf(output);
    if (size > SIZE_MAX) {
      throw new PatternFault("is too large once its repeats are unrolled", SMALLER);
    }
    return { ok: true, pattern: chargedPattern(compiled.re2(), size), work };
  } catch (error) {
    if (!(error instanceof PatternFault)) throw error;
    work = Math.max(work, WORK_MIN + workOf(output));
    return { ok: false, message: error.message, hint: error.hint, work };
  }
}

/** Ranges that are written out count as characters; more of them may have merged. */
function workOf({ characters, ranges }: Output): number {
  return Math.max(characters / LINEAR_CHARACTERS_PER_INSTRUCTION, ranges / RANGES_PER_INSTRUCTION);
}

const TOO_MANY_CLASSES = "has too many classes of characters";
const FEWER_CLASSES = "Use fewer \\p{...} classes.";
const SMALLER = "Use smaller repeat counts; check lengths with minLength and maxLength.";
const ECMA = "Patterns are ECMA-262 regular expressions.";

function compileLinear(text: string): RE2JS {
  try {
    return RE2JS.compile(text);
  } catch (error) {
    throw new PatternFault(`cannot be compiled: ${(error as Error).message}`, SMALLER);
  }
}

const parser = new RegExpParser({ ecmaVersion: 2025 });

/** The pattern in the syntax of the linear engine. */
function translate(source: string, output: Output): string {
  const size = translateAny(parse(source).alternatives, output);
  // Checked before the engine unrolls the repeats, which may be far too many.
  if (size > SIZE_MAX) {
    throw new PatternFault("is too large once its repeats are unrolled", SMALLER);
  }
  return output.parts.join("");
}

function parse(source: string): AST.Pattern {
  const strict = strictSource(source);
  try {
    return parser.parsePattern(strict, 0, strict.length, { unicode: true });
  } catch (error) {
    if (!(error instanceof RegExpSyntaxError)) throw error;
    const reason = error.message.split(": ").at(-1);
    throw new PatternFault(`is not a regular expression (${reason})`, ECMA);
  }
}

/**
 * What the `u` flag refuses, although it can mean one thing only: a backslash before
 * punctuation, a hyphen next to a set (`[\w-.]`), or else any other escape, left as it is.
 */
const LENIENT = /\\([\0-/:-@[-`{-~])|(\\(?:[dDwWsS]|[pP]\{[^}]*\}))-|-(?=\\[dDwWsSpP])|\\[^]/g;

/** Writes what is read leniently in strict ECMA-262; `\x2d` is a hyphen in a class and outside. */
function strictSource(source: string): string {
  return source.replace(LENIENT, (found, punctuation?: string, set?: string) => {
    if (punctuation !== undefined) return `\\x${hexOf(punctuation.charCodeAt(0)).padStart(2, "0")}`;
    if (set !== undefined) return `${set}\\x2d`;
    return found === "-" ? "\\x2d" : found;
  });
}

interface Output {
  readonly parts: string[];
  characters: number;
  /** Ranges of all classes so far. */
  ranges: number;
}

function emit(output: Output, text: string): void {
  output.parts.push(text);
  output.characters += text.length;
  if (output.characters > LINEAR_CHARACTERS_MAX) {
    throw new PatternFault(TOO_MANY_CLASSES, FEWER_CLASSES);
  }
}

/** Counts ranges before they are sorted and merged, after which few may be left. */
function countRanges(output: Output, count: number): void {
  output.ranges += count;
  if (output.ranges > RANGES_MAX) throw new PatternFault(TOO_MANY_CLASSES, FEWER_CLASSES);
}

/** Returns how many characters and classes there are once all repeats are unrolled. */
function translateAny(alternatives: readonly AST.Alternative[], output: Output): number {
  let size = 0;
  for (const [index, { elements }] of alternatives.entries()) {
    if (index > 0) emit(output, "|");
    for (const element of elements) size += translateElement(element, output);
  }
  return size;
}

function translateElement(element: AST.Element, output: Output): number {
  switch (element.type) {
    case "Group":
    case "CapturingGroup":
      return translateGroup(element, output);
    case "Quantifier":
      return translateQuantifier(element, output);
    case "Assertion":
      return translateAssertion(element, output);
    case "Backreference":
      throw new PatternFault(
        "uses a back reference, which cannot be matched in linear time",
        "Write the repeated part out, or check it in the handler.",
      );
    default:
      emit(output, atomText(element, output));
      return 1;
  }
}

function translateGroup(group: AST.Group | AST.CapturingGroup, output: Output): number {
  if (group.type === "Group" && group.modifiers !== null) {
    throw new PatternFault("uses an inline flag", ECMA);
  }
  // Nothing is ever captured, and plain groups are cheaper.
  emit(output, "(?:");
  const size = translateAny(group.alternatives, output);
  emit(output, ")");
  return size;
}

function translateQuantifier({ element, min, max, raw }: AST.Quantifier, output: Output): number {
  const times = Math.max(1, min, Number.isFinite(max) ? max : 0);
  if (times > REPEAT_MAX) throw new PatternFault(`repeats more than ${REPEAT_MAX} times`, SMALLER);
  const size = translateElement(element, output);
  emit(output, raw.slice(element.raw.length));
  return size * times;
}

function translateAssertion(assertion: AST.Assertion, output: Output): number {
  if (assertion.kind === "lookahead" || assertion.kind === "lookbehind") {
    throw new PatternFault(
      "uses a lookaround, which cannot be matched in linear time",
      "Say it with several keywords: allOf with several patterns, or not with a pattern.",
    );
  }
  emit(output, assertion.raw);
  return assertion.kind === "word" ? 1 : 0;
}

function atomText(
  atom: AST.Character | AST.CharacterSet | AST.CharacterClass | AST.ExpressionCharacterClass,
  output: Output,
): string {
  if (atom.type === "Character") return `\\x{${hexOf(atom.value)}}`;
  if (atom.type === "CharacterSet") {
    if (atom.kind === "any") return "[^\\n\\r\\x{2028}\\x{2029}]";
    const ranges = setRanges(atom);
    countRanges(output, ranges.length);
    return classText(ranges);
  }
  const ranges: Range[] = [];
  const sets = new Set<string>();
  for (const element of (atom as AST.ClassRangesCharacterClass).elements) {
    if (element.type === "Character") ranges.push([element.value, element.value]);
    else if (element.type !== "CharacterSet") ranges.push([element.min.value, element.max.value]);
    else if (!sets.has(element.raw)) {
      sets.add(element.raw);
      const set = setRanges(element);
      countRanges(output, set.length);
      ranges.push(...set);
    }
  }
  return classText(ranges, atom.negate);
}

function setRanges({ kind, raw }: AST.CharacterSet): readonly Range[] {
  const ranges = kind === "property" ? propertyRanges(raw) : SHORTHANDS.get(raw[1]!);
  if (ranges !== undefined) return ranges;
  const hint = "For example \\p{L} or \\p{Script=Greek}.";
  throw new PatternFault("names an unknown Unicode property", hint);
}

function hexOf(point: number): string {
  return point.toString(16);
}

/** Computes how long a pattern becomes when its repeats are unrolled, without unrolling them. */
interface UnrolledSize {
  /** A character or a class of characters. */
  atom(): void;
  open(): void;
  close(): void;
  /** The last atom or group is repeated `times` times. */
  repeat(times: number): void;
  /** All atoms so far, including those of groups that are still open. */
  total(): number;
}

interface Level {
  sum: number;
  /** The size of what a repeat would repeat. */
  last: number;
}

export function createUnrolledSize(): UnrolledSize {
  const levels: Level[] = [{ sum: 0, last: 0 }];
  const add = (size: number) => {
    const level = levels.at(-1)!;
    level.sum += size;
    level.last = size;
  };
  return {
    atom: () => add(1),
    open: () => void levels.push({ sum: 0, last: 0 }),
    close: () => {
      // A bracket that closes nothing is a syntax fault, which is reported elsewhere.
      if (levels.length > 1) add(levels.pop()!.sum);
    },
    repeat: (times) => {
      const level = levels.at(-1)!;
      level.sum += level.last * (times - 1);
      level.last *= times;
    },
    total: () => levels.reduce((sum, level) => sum + level.sum, 0),
  };
}
