/** Sets of code points as ranges: the meaning of `\s`, `\w`, `\p{..}` and `[...]` in ECMA-262. */

import { runAtOnce, type Steps } from "../../../fairness/pieces.ts";

/** The first and last code point, both inclusive. */
export type Range = readonly [number, number];

const POINT_MAX = 0x10ffff;

/** Sorts and merges ranges. */
function normalize(ranges: readonly Range[]): Range[] {
  const sorted = [...ranges].sort((a, b) => a[0] - b[0]);
  const merged: [number, number][] = [];
  for (const [first, last] of sorted) {
    const previous = merged.at(-1);
    if (previous !== undefined && first <= previous[1] + 1) {
      previous[1] = Math.max(previous[1], last);
    } else merged.push([first, last]);
  }
  return merged;
}

/** Every code point that is in none of `ranges`. */
function complement(ranges: readonly Range[]): Range[] {
  const result: Range[] = [];
  let next = 0;
  for (const [first, last] of normalize(ranges)) {
    if (first > next) result.push([next, first - 1]);
    next = last + 1;
  }
  if (next <= POINT_MAX) result.push([next, POINT_MAX]);
  return result;
}

const DIGIT: readonly Range[] = [[0x30, 0x39]];
const WORD: readonly Range[] = [[0x30, 0x39], [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]];
/** WhiteSpace and LineTerminator of ECMA-262, which go beyond ASCII. */
const SPACE: readonly Range[] = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
];

/** By the letter after the backslash. */
export const SHORTHANDS: ReadonlyMap<string, readonly Range[]> = new Map([
  ["d", DIGIT],
  ["D", complement(DIGIT)],
  ["w", WORD],
  ["W", complement(WORD)],
  ["s", SPACE],
  ["S", complement(SPACE)],
]);

/** The class in the syntax of the linear engine. */
export function classText(ranges: readonly Range[], negated = false): string {
  const members = negated ? complement(ranges) : normalize(ranges);
  // An empty class matches nothing; the engine needs it written as "not anything".
  if (members.length === 0) return "[^\\x{0}-\\x{10ffff}]";
  const hex = (point: number) => `\\x{${point.toString(16)}}`;
  return `[${members.map(([first, last]) => `${hex(first)}-${hex(last)}`).join("")}]`;
}

/** Finite: only the few hundred escapes that the language knows are ever added. */
const properties = new Map<string, readonly Range[]>();

/** The code points of `\p{...}` or `\P{...}`; undefined if there is no such property. */
export function propertyRanges(escape: string): readonly Range[] | undefined {
  return runAtOnce(propertyRangesSteps(escape));
}

/** The same in time slices: a property that is asked for the first time takes milliseconds. */
export function* propertyRangesSteps(escape: string): Steps<readonly Range[] | undefined> {
  const known = properties.get(escape);
  if (known !== undefined) return known;
  let runs: RegExp;
  try {
    // Asking the language itself gives the exact meaning of every property it has.
    runs = new RegExp(`${escape}+`, "gu");
  } catch {
    return undefined;
  }
  const ranges = normalize([...yield* planeRanges(runs), ...surrogateRanges(runs)]);
  properties.set(escape, ranges);
  return ranges;
}

/** Ranges outside the surrogates: the matching runs in one long text for each plane. */
function* planeRanges(runs: RegExp): Steps<Range[]> {
  const ranges: Range[] = [];
  for (let plane = 0; plane <= POINT_MAX; plane += 0x10000) {
    const blocks: Range[] = plane === 0
      ? [[0, 0xd7ff], [0xe000, 0xffff]]
      : [[plane, plane + 0xffff]];
    for (const [first, last] of blocks) {
      yield;
      const units = first > 0xffff ? 2 : 1;
      for (const match of textOf(first, last).matchAll(runs)) {
        const start = first + match.index / units;
        ranges.push([start, start + match[0].length / units - 1]);
      }
    }
  }
  return ranges;
}

/** Kept for the next property; about 4 MB in all, once a pattern names a property. */
const texts = new Map<number, string>();

function textOf(first: number, last: number): string {
  const known = texts.get(first) ?? makeText(first, last);
  texts.set(first, known);
  return known;
}

function makeText(first: number, last: number): string {
  const pieces: string[] = [];
  for (let start = first; start <= last; start += 0x1000) {
    const points = [];
    for (let p = start; p <= Math.min(start + 0xfff, last); p++) points.push(p);
    pieces.push(String.fromCodePoint(...points));
  }
  return pieces.join("");
}

/** Lone surrogates are code points too, but next to each other they would form pairs. */
function surrogateRanges(runs: RegExp): Range[] {
  const ranges: Range[] = [];
  for (let point = 0xd800; point <= 0xdfff; point++) {
    runs.lastIndex = 0;
    if (runs.test(String.fromCharCode(point))) ranges.push([point, point]);
  }
  runs.lastIndex = 0;
  return ranges;
}
