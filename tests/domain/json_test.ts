/**
 * What counts as a JSON object, the names of the kinds of values, which numbers survive a double
 * unchanged (the oracle: fractions of BigInts), and which values are surely too long.
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  describeKind,
  findNumberFault,
  isJsonObject,
  isSurelyLonger,
  type JsonValue,
} from "../../src/domain/json.ts";

Deno.test("isJsonObject() is true for objects, false for null, arrays and scalars", () => {
  for (const object of [{}, { a: 1 }, Object.create(null)]) {
    assert.equal(isJsonObject(object), true);
  }
  for (const other of [null, [], [{}], "", "{}", 0, true, undefined]) {
    assert.equal(isJsonObject(other), false);
  }
});

Deno.test("describeKind() names each kind of value as a sentence needs it", () => {
  const names = [null, undefined, [], {}, "a", 1, true].map(describeKind);
  assert.deepEqual(names, [
    ...["null", "nothing", "an array", "an object", "a string", "a number", "a boolean"],
  ]);
});

const TAKEN = [
  ...["0", "-0", "0e999", "0.0e-999", "1.0", "1.5e3", "100000e-5", "9007199254740992", "1e22"],
  ...["-9007199254740991", "0.1", "0.1234567890123456789", "1e-300", "5e-324", "1e15"],
  ...["10000000000000000", "1.7976931348623157e308", "123456789012345678e-20"],
  // What other JSON writers send for their values.
  ...["1e23", "6.02e23", "-6.02E+23", "18446744073709552000", JSON.stringify(2 ** 64)],
  ...["100000000000000000000000", "9007199254740992.0", "0.00000000000000000000000000000001e55"],
  // Fractions below 2^53 are rounded, down to zero too.
  ...["9007199254740991.7", "4503599627370496.3", "1e-324", "-2e-400", "1e-99999999999999999999"],
];
const CHANGED: readonly (readonly [string, string])[] = [
  ["9007199254740993", "9007199254740992"],
  ["-9007199254740993", "-9007199254740992"],
  ["9007199254740993.0", "9007199254740992"],
  ["90071992547409930e-1", "9007199254740992"],
  ["9007199254740992.5", "9007199254740992"],
  ["12345678901234567890.5", "12345678901234567000"],
  ["12345678901234567890", "12345678901234567000"],
  // A double holds this number exactly, yet it would be stored as the other.
  ["18446744073709551616", "18446744073709552000"],
  ["123456789012345678e-1", "12345678901234568"],
  ["9.9999999999999999999e22", "1e+23"],
];

for (const literal of TAKEN) {
  Deno.test(`findNumberFault() passes ${literal}`, () => {
    assert.equal(findNumberFault(literal), undefined);
  });
}

for (const [literal, nearest] of CHANGED) {
  Deno.test(`findNumberFault() refuses ${literal} and names ${nearest}`, () => {
    const fault = `Number cannot be held by a double, the nearest is ${nearest}: ` +
      "send that, or a string";
    assert.equal(findNumberFault(literal), fault);
    assert.equal(findNumberFault(nearest), undefined, "the nearest one passes");
  });
}

Deno.test("findNumberFault() refuses what overflows", () => {
  for (const literal of ["1e309", "-1e400", "1" + "0".repeat(400), "1e99999999999999999999"]) {
    assert.match(findNumberFault(literal) ?? "", /beyond the range/);
  }
});

Deno.test("findNumberFault() refuses a number of more than 1,024 characters", () => {
  assert.equal(findNumberFault("0." + "1".repeat(1_022)), undefined);
  assert.match(findNumberFault("0." + "1".repeat(1_023)) ?? "", /more than 1024 characters/);
});

/** Numbers as people and machines write them, around the places where doubles get coarse. */
const digits = fc.stringMatching(/^(0|[1-9][0-9]{0,24})$/);
const literals = fc.oneof(
  fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }).map(String),
  fc.bigInt({ min: 2n ** 53n - 50n, max: 2n ** 53n + 50n }).map(String),
  fc.tuple(fc.bigInt({ min: 2n ** 53n - 5n, max: 2n ** 53n + 5n }), fc.nat(999))
    .map(([whole, fraction]) => `${whole}.${fraction}`),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.tuple(fc.constantFrom("", "-"), digits, fc.stringMatching(/^(\.[0-9]{1,20})?$/))
    .chain(([sign, whole, fraction]) =>
      fc.oneof(fc.constant(""), fc.integer({ min: -60, max: 60 }).map((power) => `e${power}`))
        .map((exponent) => sign + whole + fraction + exponent)
    ),
);

Deno.test("findNumberFault() refuses exactly what its definition in fractions refuses", () => {
  let refused = 0;
  fc.assert(
    fc.property(literals, (literal) => {
      const fault = findNumberFault(literal);
      assert.equal(fault === undefined, isTakenExactly(literal), literal);
      if (fault !== undefined) refused++;
    }),
    { numRuns: 20_000 },
  );
  assert.ok(refused > 1_000 && refused < 15_000, `${refused} of 20000 refused`);
});

/** A fraction of two BigInts, the second one positive. */
type Ratio = readonly [bigint, bigint];

function isTakenExactly(literal: string): boolean {
  const [top, bottom] = ratioOf(literal);
  const [otherTop, otherBottom] = ratioOf(JSON.stringify(Number(literal)));
  if (top * otherBottom === otherTop * bottom) return true;
  const size = top < 0n ? -top : top;
  return top % bottom !== 0n && size < 2n ** 53n * bottom;
}

function ratioOf(literal: string): Ratio {
  const [mantissa = "", power = "0"] = literal.toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  const top = BigInt(whole + fraction);

  const exponent = Number(power) - fraction.length;
  const scale = 10n ** BigInt(Math.abs(exponent));
  return exponent < 0 ? [top, scale] : [top * scale, 1n];
}

/** A character with an escape has six, a number 24 with its comma 25 where two are counted. */
const MOST_FOR_EACH_COUNTED = 13;

Deno.test("isSurelyLonger() is true of no text within the limit, and of each far beyond it", () => {
  const limit = fc.integer({ min: 0, max: 300 });
  fc.assert(fc.property(fc.jsonValue({ maxDepth: 4 }), limit, (value, charactersMax) => {
    const { length } = JSON.stringify(value);
    const isLonger = isSurelyLonger(value as JsonValue, charactersMax);
    if (length <= charactersMax) assert.equal(isLonger, false);
    if (length > MOST_FOR_EACH_COUNTED * (charactersMax + 3)) assert.equal(isLonger, true);
  }));
});

Deno.test("isSurelyLonger() counts an empty text, list and object for nothing", () => {
  for (const value of ["", [], {}, 0, null, true]) {
    assert.equal(isSurelyLonger(value, 0), false, JSON.stringify(value));
  }
});

Deno.test("isSurelyLonger() looks at no value of a list or object that has more than there is room for", () => {
  function unread(): never {
    assert.fail("a value was read");
  }
  const list = new Proxy(Array.from({ length: 1_000 }, () => 0), {
    get: (items, name) => name === "length" ? items.length : unread(),
    getPrototypeOf: () => Array.prototype,
  });
  assert.equal(isSurelyLonger({ list }, 1_999), true);
  const object: Record<string, number> = {};
  for (let name = 0; name < 1_000; name++) {
    Object.defineProperty(object, `${name}`, { enumerable: true, get: unread });
  }
  assert.equal(isSurelyLonger([object], 4_999), true);
});
