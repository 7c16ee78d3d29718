/** Which JSON numbers a double holds. Oracle: exact arithmetic with BigInt. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { findNumberFault } from "../../../src/http/decode/number_text.ts";

const EXACT = [
  "0",
  "-0",
  "0e999",
  "0.0e-999",
  "1.0",
  "1.5e3",
  "100000e-5",
  "9007199254740992",
  "1e22",
]
  .concat(["-9007199254740991", "0.1", "0.1234567890123456789", "1e-300", "5e-324"])
  .concat(["10000000000000000", "1.7976931348623157e308e".slice(0, 4), "123456789012345678e-20"]);
const INEXACT = [
  "9007199254740993",
  "-9007199254740993",
  "1e23",
  "9007199254740993.0",
  "90071992547409930e-1",
];

for (const literal of EXACT) {
  Deno.test(`findNumberFault() passes ${literal}`, () => {
    assert.equal(findNumberFault(literal), undefined);
  });
}

for (const literal of INEXACT) {
  Deno.test(`findNumberFault() refuses the integer ${literal}`, () => {
    assert.match(findNumberFault(literal) ?? "", /cannot be held exactly/);
  });
}

Deno.test("findNumberFault() refuses what overflows and what underflows to zero", () => {
  for (const literal of ["1e309", "-1e400", "1" + "0".repeat(400)]) {
    assert.match(findNumberFault(literal) ?? "", /beyond the range/);
  }
  for (const literal of ["1e-324", "-2e-400", "0." + "0".repeat(400) + "1"]) {
    assert.match(findNumberFault(literal) ?? "", /too small/);
  }
});

Deno.test("findNumberFault() refuses exactly the integers that change on the way through a double", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }), (integer) => {
      const survives = BigInt(Number(integer)) === integer;
      assert.equal(findNumberFault(String(integer)) === undefined, survives);
    }),
  );
});
