/** `multipleOf` in decimal arithmetic: 19.99 is a multiple of 0.01, as its writer means it. */

import { type Budget, spend } from "../../budget.ts";

/** Decimal places that a number can be scaled by without losing a digit. */
const PLACES_MAX = 15;
/** Below this, a number has no other decimal of so few digits beside it. */
const SHORT_MAX = 1e15;

/** Of a division of integers and short decimals, and of one of up to 650 digits. */
const SHORT_UNITS = 8;
const LONG_UNITS = 2_048;

/** A number above 0 to divide by. */
export interface Divisor {
  readonly value: number;
  /** 10 for each of its decimal places, and the integer that it is times that. */
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

/** True when `value` divided by `divisor` is an integer, in the digits as written. */
export function isMultipleOf(value: number, divisor: Divisor, budget: Budget): boolean {
  spend(budget, SHORT_UNITS);
  if (!Number.isFinite(value)) return false;
  const scaled = Math.round(value * divisor.scale);
  if (Math.abs(scaled) < SHORT_MAX && divisor.scaled < SHORT_MAX) {
    // With more places than the divisor it is no multiple; else nothing is lost in scaling.
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

/** At most some 650 digits: a double's exponent ends near 308 on both sides. */
function scale(value: Decimal, exponent: number): bigint {
  return value.digits * 10n ** BigInt(value.exponent - exponent);
}
