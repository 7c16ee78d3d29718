/** Multiples in the digits as written. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { isMultipleOf } from "../../../../src/domain/spec/schema/exact_multiple.ts";

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
