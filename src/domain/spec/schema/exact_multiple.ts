/** `multipleOf` in decimal arithmetic: 19.99 is a multiple of 0.01, as the writer means it. */

import { type Budget, spend } from "../../budget.ts";

/** Decimal places by which a number can be scaled without losing a digit. */
const PLACES_MAX = 15;
/** Below this, no other decimal with so few digits is as close to the number. */
const SHORT_MAX = 1e15;

/** Units for dividing integers and short decimals, and for dividing up to 650 digits. */
const SHORT_UNITS = 8;
const LONG_UNITS = 2_048;

/** A number above 0 to divide by. */
export interface Divisor {
  readonly value: number;
  /** A power of ten, one factor for each decimal place, and the integer `value * scale`. */
  readonly scale: number;
  readonly scaled: number;
  readonly decimal: Decimal;
}

export function createDivisor(value: number): Divisor {
  const digits = decimal(value);
  const places = Math.max(0, -digits.exponent);
  const scale = places <= PLACES_MAX ? 10 ** places : Infinity;
  return { value, scale, scaled: Math.round(value * scale), decimal: digits };
}

/** True when `value` divided by `divisor` is an integer, using the digits as written. */
export function isMultipleOf(value: number, divisor: Divisor, budget: Budget): boolean {
  spend(budget, SHORT_UNITS);
  if (!Number.isFinite(value)) return false;
  const scaled = Math.round(value * divisor.scale);
  if (Math.abs(scaled) < SHORT_MAX && divisor.scaled < SHORT_MAX) {
    // A value with more places than the divisor is not a multiple; else scaling loses nothing.
    return scaled / divisor.scale === value && scaled % divisor.scaled === 0;
  }
  spend(budget, LONG_UNITS);
  const [a, b] = [decimal(value), divisor.decimal];
  const exponent = Math.min(a.exponent, b.exponent);
  return scale(a, exponent) % scale(b, exponent) === 0n;
}

interface Decimal {
  readonly digits: bigint;
  readonly exponent: number;
}

function decimal(value: number): Decimal {
  const [mantissa, power] = String(value).split("e");
  const [whole, fraction = ""] = mantissa!.split(".");
  return { digits: BigInt(whole! + fraction), exponent: Number(power ?? 0) - fraction.length };
}

/** About 650 digits at most: the exponent of a double ends near 308 in both directions. */
function scale(value: Decimal, exponent: number): bigint {
  return value.digits * 10n ** BigInt(value.exponent - exponent);
}
