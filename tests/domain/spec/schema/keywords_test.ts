/** Multiples are decided on the decimal digits as written. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { newBudget } from "../../../../src/domain/budget.ts";
import {
  createDivisor,
  isMultipleOf as isMultiple,
} from "../../../../src/domain/spec/schema/keywords.ts";

function isMultipleOf(value: number, divisor: number): boolean {
  return isMultiple(value, createDivisor(divisor), newBudget(1e6));
}

/** By long division of the digits as JavaScript writes them. */
function isMultipleByDigits(value: number, divisor: number): boolean {
  const [a, b] = [value, divisor].map((number) => {
    const [mantissa, power = "0"] = String(number).split("e");
    const [whole, fraction = ""] = mantissa!.split(".");
    return { digits: BigInt(whole! + fraction), exponent: Number(power) - fraction.length };
  });
  const least = Math.min(a!.exponent, b!.exponent);
  const [x, y] = [a!, b!].map(({ digits, exponent }) => digits * 10n ** BigInt(exponent - least));
  return x! % y! === 0n;
}

Deno.test("isMultipleOf() divides as a pupil does, digit by digit", () => {
  const decimals = fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.tuple(fc.integer({ min: -1e15, max: 1e15 }), fc.integer({ min: -20, max: 20 }))
      .map(([digits, power]) => Number(`${digits}e${power}`)),
  );
  fc.assert(
    fc.property(decimals, decimals, (value, other) => {
      const divisor = Math.abs(other);
      fc.pre(divisor > 0);
      assert.equal(isMultipleOf(value, divisor), isMultipleByDigits(value, divisor));
      const whole = Number((divisor * 7).toPrecision(15));
      fc.pre(Number.isFinite(whole));
      assert.equal(isMultipleOf(whole, divisor), isMultipleByDigits(whole, divisor));
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("isMultipleOf() takes k/100 for a multiple of 0.01, for every k", () => {
  fc.assert(fc.property(fc.integer({ min: -1e9, max: 1e9 }), (k) => {
    assert(isMultipleOf(k / 100, 0.01));
    assert(!isMultipleOf(Number(`${k}.5e-2`), 0.01));
  }));
});

Deno.test("isMultipleOf() answers at the ends of the range of doubles", () => {
  assert(isMultipleOf(Number.MAX_VALUE, 5e-324));
  assert(!isMultipleOf(5e-324, Number.MAX_VALUE));
  assert(isMultipleOf(0, 5e-324));
  assert(isMultipleOf(-0, 3));
  assert(!isMultipleOf(Infinity, 1));
});
