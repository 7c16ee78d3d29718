/**
 * JSON as TypeScript types: what requests carry, handlers fold and the store keeps. Numbers that no
 * double holds, and names that cost too much, are found here.
 */

import type { Turns } from "./fairness/pieces.ts";
import { limits } from "./limits.ts";

export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue;
}

/** True for `{...}`; false for `null`, arrays and scalars. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Names the kind of a value for messages: "an object", "a string" and so on. */
export function describeKind(value: unknown): string {
  if (value === null) return "null";
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
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

/*
 * The cost of names. The runtime keeps all keys, and all other texts of up to ten characters, in
 * one hash table. Its hash function has the same seed in every process, so a client can send names
 * that all have one hash, and each of them then takes as long to find as there are others. Only the
 * clock shows it. Few names are parsed at a time, and those that are slow again and again are
 * refused. See docs/reference/basics.md.
 */

/** Longer texts are no names unless they are keys. */
export const NAME_CHARACTERS_MAX = 10;
/**
 * Names that are parsed at once. In the minute after some were too slow, which are still in the
 * table, very few.
 */
const NAMES_AT_ONCE = 64;
const NAMES_AT_ONCE_WARY = 4;
/** A text with so few is parsed at once at any time. */
export const FEW_NAMES = 16;
const WARY_MS = 60_000;
/** How long a parse may take: many times longer than usual. Milliseconds. */
export const MS_PER_PARSE = 0.5;
const MS_PER_PARSE_WARY = 0.1;
const MS_PER_NAME = 0.01;
const MS_PER_CHARACTER = 0.000_05;
/** A parse may also be slow because of other work on the machine, so it is tried again. */
const TRIES = 5;
const TRIES_WARY = 4;

export interface NameCost {
  /** How many names may be parsed at once. */
  namesAtOnce(): number;
  /**
   * The value of the text. Undefined: its names take too long to look up.
   * @param names how many it has; its keys are counted if this is absent.
   * @throws SyntaxError
   */
  parse(text: string, names?: number): JsonValue | undefined;
  /** Called for text that was slow and malformed: its names are in the table as well. */
  noteSlow(): void;
}

/** For callers that answer for their input: any names, at once. */
export const ANY_NAMES: NameCost = {
  namesAtOnce: () => Infinity,
  parse: (text) => JSON.parse(text),
  noteSlow: () => {},
};

/** One for each clock; a process has one clock, and one table of names. */
const costs = new WeakMap<Pick<Turns, "monotonicMs">, NameCost>();

export function nameCostOf(clock: Pick<Turns, "monotonicMs">): NameCost {
  const known = costs.get(clock);
  if (known !== undefined) return known;
  const opened = openNameCost(clock);
  costs.set(clock, opened);
  return opened;
}

function openNameCost({ monotonicMs }: Pick<Turns, "monotonicMs">): NameCost {
  let waryUntilMs = -Infinity;

  const isWary = () => monotonicMs() < waryUntilMs;
  const noteSlow = () => void (waryUntilMs = monotonicMs() + WARY_MS);

  function parseOnce(text: string, names?: number): { value: JsonValue; isSlow: boolean } {
    const startedMs = monotonicMs();
    const parseMs = startedMs < waryUntilMs ? MS_PER_PARSE_WARY : MS_PER_PARSE;
    const textMs = parseMs + MS_PER_CHARACTER * text.length;
    let value: JsonValue;
    try {
      value = JSON.parse(text);
    } catch (error) {
      if (monotonicMs() - startedMs > textMs + MS_PER_NAME * (names ?? 0)) noteSlow();
      throw error;
    }
    const tookMs = monotonicMs() - startedMs;
    const isSlow = tookMs > textMs && tookMs > textMs + MS_PER_NAME * (names ?? countKeys(value));
    return { value, isSlow };
  }

  return {
    noteSlow,
    namesAtOnce: () => isWary() ? NAMES_AT_ONCE_WARY : NAMES_AT_ONCE,
    parse(text, names) {
      const first = parseOnce(text, names);
      if (!first.isSlow || names === 0) return first.value;
      for (let left = isWary() ? TRIES_WARY : TRIES; left > 1; left--) {
        const again = parseOnce(text, names);
        if (!again.isSlow) return again.value;
      }
      noteSlow();
      return undefined;
    },
  };
}

/** The text of a refusal for names that cost too much. */
export function slowNames(subject: string): string {
  return `${subject} has keys or short texts that collide in the table of all names, so that each ` +
    "takes as long to find as there are others: send others";
}
