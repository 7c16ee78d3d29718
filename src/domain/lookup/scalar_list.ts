/**
 * Lists of values that clients choose: looking a value up, and finding equal ones.
 *
 * A large `Set` is no good for that. The engine hashes integers by a function that everybody
 * knows, and texts with a seed that is the same in every process. A client can therefore choose
 * values that all fall into one bucket, where each look-up compares all of them. Here a look-up
 * searches sorted values by halves, and equal values are neighbours after sorting. No choice of
 * values makes that slower.
 *
 * Equality is that of JSON: 1 is 1.0, -0 is 0, and values of different types are never equal.
 */

import { type Budget, spend } from "../budget.ts";
import type { JsonValue } from "../json.ts";
import { TextSet } from "./text_map.ts";

export type ScalarValue = null | boolean | number | string;

/** Up to this many values, comparing each of them is faster than anything else. */
const FEW = 8;
/** Up to this many values, a `Set` is faster than sorting, even if all are in one bucket. */
const SET_MAX = 64;
/** Units for one comparison while searching or sorting, beside the characters it compares. */
const UNITS_PER_COMPARISON = 2;
/** Comparing this many characters takes as long as one unit. */
const COMPARED_TOGETHER = 8;

/** Values in which others are looked up. */
export interface ScalarList {
  readonly size: number;
  /** Sorted. */
  readonly numbers: Float64Array;
  /** Sorted by UTF-16 code units. */
  readonly texts: readonly string[];
  /** `null`, `true` and `false`, as far as they are listed. */
  readonly others: ReadonlySet<ScalarValue>;
}

export function isScalar(value: JsonValue): value is ScalarValue {
  return typeof value !== "object" || value === null;
}

/** Makes a list of values in a definition. Sorting them takes a few milliseconds at most. */
export function scalarListOf(values: readonly ScalarValue[]): ScalarList {
  const { numbers, texts, others } = byType(values);
  return {
    size: values.length,
    numbers: Float64Array.from(numbers).sort(),
    texts: texts.sort(),
    others: new Set(others),
  };
}

/** True if `value` is listed. Comparisons, and the characters compared, are charged. */
export function isInList(value: ScalarValue, list: ScalarList, budget: Budget): boolean {
  if (typeof value === "string") return isText(value, list.texts, budget);
  if (typeof value === "number") return isNumber(value, list.numbers, budget);
  return list.others.has(value);
}

/** Numbers and texts have functions of their own, because code for one type is faster. */
function isText(value: string, texts: readonly string[], budget: Budget): boolean {
  const { length } = texts;
  spend(budget, value.length);
  if (length <= FEW) {
    // Bounded: `FEW`. The characters have been charged.
    for (let index = 0; index < length; index++) if (texts[index] === value) return true;
    return false;
  }
  spend(budget, unitsPerText(value.length) * levelsOf(length));
  let low = 0;
  let high = length - 1;
  // Bounded: each comparison has been charged.
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (texts[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return texts[low] === value;
}

function isNumber(value: number, numbers: Float64Array, budget: Budget): boolean {
  const { length } = numbers;
  if (length <= FEW) {
    // Bounded: `FEW`.
    for (let index = 0; index < length; index++) if (numbers[index] === value) return true;
    return false;
  }
  spend(budget, UNITS_PER_COMPARISON * levelsOf(length));
  let low = 0;
  let high = length - 1;
  // Bounded: each comparison has been charged.
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (numbers[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return numbers[low] === value;
}

/** True if no two values are equal. The caller charges each value; this charges comparisons. */
export function areDistinct(values: readonly ScalarValue[], budget: Budget): boolean {
  // Bounded: the caller has charged each value.
  for (const value of values) if (typeof value === "string") spend(budget, value.length);
  if (values.length <= FEW) return areFewDistinct(values);
  const { numbers, texts, others } = byType(values);
  if (new Set(others).size !== others.length) return false;
  if (values.length <= SET_MAX) {
    return new Set(numbers).size === numbers.length && new TextSet(texts).size === texts.length;
  }
  return areNumbersDistinct(numbers, budget) && areTextsDistinct(texts, budget);
}

function areFewDistinct(values: readonly ScalarValue[]): boolean {
  // Bounded: `FEW`.
  for (let index = 1; index < values.length; index++) {
    for (let other = 0; other < index; other++) if (values[other] === values[index]) return false;
  }
  return true;
}

function areNumbersDistinct(numbers: readonly number[], budget: Budget): boolean {
  const { length } = numbers;
  spend(budget, UNITS_PER_COMPARISON * length * levelsOf(length));
  return areNeighboursDistinct(Float64Array.from(numbers).sort());
}

/** Sorts `texts`. Each level of a merge sort compares each text once, at most whole. */
function areTextsDistinct(texts: string[], budget: Budget): boolean {
  const levels = levelsOf(texts.length);
  // Bounded: each text is charged.
  for (const text of texts) spend(budget, unitsPerText(text.length) * levels);
  return areNeighboursDistinct(texts.sort());
}

function areNeighboursDistinct<T>(sorted: ArrayLike<T>): boolean {
  // Bounded: the caller has charged each value.
  for (let index = 1; index < sorted.length; index++) {
    if (sorted[index] === sorted[index - 1]) return false;
  }
  return true;
}

function byType(values: readonly ScalarValue[]) {
  const numbers: number[] = [];
  const texts: string[] = [];
  const others: ScalarValue[] = [];
  // Bounded: values of a definition, or values that the caller has charged.
  for (const value of values) {
    if (typeof value === "number") numbers.push(value);
    else if (typeof value === "string") texts.push(value);
    else others.push(value);
  }
  return { numbers, texts, others };
}

/** How often a list of this length can be halved: the comparisons of one search. */
function levelsOf(length: number): number {
  return 32 - Math.clz32(length);
}

function unitsPerText(characters: number): number {
  return UNITS_PER_COMPARISON + Math.floor(characters / COMPARED_TOGETHER);
}
