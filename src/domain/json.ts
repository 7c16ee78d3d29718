/**
 * JSON as TypeScript types: what requests carry, handlers fold and the store keeps. Numbers that no
 * double holds, and values that are too long, are found here.
 */

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

/** Adds a member as JSON means it, whatever its key. */
export function putMember(object: JsonObject, key: string, value: JsonValue): void {
  if (key !== "__proto__") object[key] = value;
  else {
    const property = { value, writable: true, enumerable: true, configurable: true };
    Object.defineProperty(object, key, property);
  }
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

/** `"":0,` and `0,`. */
const MEMBER_CHARACTERS = 5;
const ITEM_CHARACTERS = 2;

/**
 * Whether the JSON text of the value surely has more than so many characters. If not, it has some
 * times as many at most (six, for texts of escapes), so it may be made at once. No more of the
 * value is looked at than fits into the limit.
 */
export function isSurelyLonger(value: JsonValue, charactersMax: number): boolean {
  const waiting = [value];
  let least = 0;
  // Bounded: whatever waits takes room below `charactersMax`.
  while (waiting.length > 0 && least <= charactersMax) {
    const one = waiting.pop()!;
    if (typeof one === "string") least += one.length;
    if (typeof one !== "object" || one === null) continue;
    if (Array.isArray(one)) {
      least += ITEM_CHARACTERS * one.length;
      if (least <= charactersMax) { for (const item of one) waiting.push(item); }
      continue;
    }
    const names = Object.keys(one);
    least += MEMBER_CHARACTERS * names.length;
    if (least > charactersMax) break;
    for (const name of names) {
      least += name.length;
      waiting.push(one[name]!);
    }
  }
  return least > charactersMax;
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
