/** Whether a double holds what a JSON number says: "stored bytes never silently differ". */

import { limits } from "../../domain/limits.ts";

const LITERAL = /^-?([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;
/** Integers of so many digits are always exact. */
const EXACT_DIGITS = 15;
const ZERO = 0x30;

/**
 * Why `literal`, a well-formed JSON number, would change when read as a double; undefined when it
 * would not. Fractions are rounded by nature and pass; integers must survive to the last digit.
 */
export function findNumberFault(literal: string): string | undefined {
  const limit = limits.jsonNumberCharactersMax;
  if (literal.length > limit) return `Number has more than ${limit} characters`;
  const value = Number(literal);
  if (!Number.isFinite(value)) return "Number is beyond the range of a double";
  const [, whole = "", fraction = "", exponent = "0"] = LITERAL.exec(literal) ?? [];
  const { digits, trailingZeros } = trimZeros(whole + fraction);
  if (digits === "") return undefined;
  if (value === 0) return "Number is too small for a double";
  const zeros = Number(exponent) - fraction.length + trailingZeros;
  if (zeros < 0) return undefined;
  if (digits.length + zeros <= EXACT_DIGITS) return undefined;
  // The value is finite, so there are at most 309 digits here.
  const sent = BigInt(digits + "0".repeat(zeros));
  if (sent === BigInt(Math.abs(value))) return undefined;
  return "Integer cannot be held exactly by a double; send it as a string";
}

/** By hand: a regular expression for trailing zeros takes quadratic time on hostile digits. */
function trimZeros(text: string): { digits: string; trailingZeros: number } {
  let start = 0;
  while (text.charCodeAt(start) === ZERO) start++;
  let end = text.length;
  while (end > start && text.charCodeAt(end - 1) === ZERO) end--;
  return { digits: text.slice(start, end), trailingZeros: text.length - end };
}
