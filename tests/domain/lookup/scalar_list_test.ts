/** Values are found and told apart as by comparing them one by one, at a charge that is small. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { type Budget, BudgetSpent, newBudget } from "../../../src/domain/budget.ts";
import {
  areDistinct,
  isInList,
  isScalar,
  scalarListOf,
  type ScalarValue,
} from "../../../src/domain/lookup/scalar_list.ts";

const PLENTY = 1e9;

/** Values that are often equal, and texts that differ only far from their beginning. */
const value: fc.Arbitrary<ScalarValue> = fc.oneof(
  fc.constantFrom<ScalarValue>(null, true, false, 0, -0, 1, -1, "", "0", "1", "null", "true"),
  fc.integer({ min: -40, max: 40 }),
  fc.integer({ min: -40, max: 40 }).map(String),
  fc.double({ noNaN: true }),
  fc.string({ maxLength: 4 }),
  fc.string({ unit: "binary", maxLength: 3 }),
  fc.integer({ min: 0, max: 40 }).map((end) => `${"a".repeat(300)}${end}`),
);
/** Few, some and many: each has a way of its own. */
const values = fc.integer({ min: 0, max: 200 }).chain((count) =>
  fc.array(value, { minLength: count, maxLength: count })
);

function isAmong(wanted: ScalarValue, listed: readonly ScalarValue[]): boolean {
  return listed.some((each) => each === wanted);
}

Deno.test("isInList() finds what comparing each value finds", () => {
  fc.assert(fc.property(values, fc.array(value), (listed, wanted) => {
    const list = scalarListOf(listed);
    assert.equal(list.size, listed.length);
    for (const each of [...listed, ...wanted]) {
      assert.equal(isInList(each, list, newBudget(PLENTY)), isAmong(each, listed), String(each));
    }
  }));
});

Deno.test("areDistinct() tells what comparing each pair tells", () => {
  fc.assert(fc.property(values, fc.boolean(), (drawn, isUnique) => {
    // Random values are hardly ever distinct, so half of the lists are made so.
    const tried = isUnique ? drawn.filter((each, at) => drawn.indexOf(each) === at) : drawn;
    const expected = tried.every((each, at) => !isAmong(each, tried.slice(0, at)));
    assert.equal(areDistinct(tried, newBudget(PLENTY)), expected);
  }));
});

Deno.test("areDistinct() and scalarListOf() leave the values in their order", () => {
  fc.assert(fc.property(values, (drawn) => {
    const before = [...drawn];
    scalarListOf(drawn);
    areDistinct(drawn, newBudget(PLENTY));
    assert.deepEqual(drawn, before);
  }));
});

function numbers(count: number, from = 0): number[] {
  return Array.from({ length: count }, (_, index) => index + from);
}

const LONG = "a".repeat(10_000);

/** In lists of three lengths: compared one by one, put into a set, sorted. */
for (const more of [0, 20, 100]) {
  const others: ScalarValue[] = numbers(more, 100);
  const texts = others.map((number) => `t${number}`);
  const cases: readonly [string, readonly ScalarValue[], boolean][] = [
    ["0 and -0", [0, -0], false],
    ["a number and its text", [1, "1"], true],
    ["false, null, 0 and an empty text", [false, null, 0, ""], true],
    ["null twice", [null, 5, null], false],
    ["true twice", [true, 5, true], false],
    ["a short text twice", ["x", "y", "x"], false],
    ["long texts that are equal", [`${LONG}a`, `${LONG}a`], false],
    ["long texts that differ in their end", [`${LONG}a`, `${LONG}b`, LONG], true],
    ["texts that only look equal", ["\u00e9", "e\u0301"], true],
    ["texts beyond the basic plane", ["\u{1f600}", "\uffff", "\u{1f601}"], true],
    ["the largest numbers", [Number.MAX_VALUE, -Number.MAX_VALUE, 5e-324], true],
  ];
  for (const [name, some, expected] of cases) {
    Deno.test(`areDistinct() of ${name}, beside ${2 * more} other values: ${expected}`, () => {
      const all = [...others, ...some, ...texts];
      assert.equal(areDistinct(all, newBudget(PLENTY)), expected);
      const list = scalarListOf(all);
      for (const each of some) assert(isInList(each, list, newBudget(PLENTY)), String(each));
    });
  }

  Deno.test(`isInList() does not convert, beside ${2 * more} other values`, () => {
    const list = scalarListOf([...others, ...texts, 0, "7", true]);
    for (const each of [-0, "7", true]) assert(isInList(each, list, newBudget(PLENTY)));
    for (const each of ["0", "-0", 7, "true", false, null, 1, ""]) {
      assert(!isInList(each, list, newBudget(PLENTY)), String(each));
    }
  });
}

Deno.test("an empty list has nothing in it, and its values are distinct", () => {
  const list = scalarListOf([]);
  for (const each of [null, false, 0, ""]) assert(!isInList(each, list, newBudget(PLENTY)));
  assert(areDistinct([], newBudget(0)));
});

Deno.test("isScalar() is false for arrays and objects alone", () => {
  for (const each of [null, true, false, 0, ""]) assert(isScalar(each));
  for (const each of [[], {}, [1]]) assert(!isScalar(each));
});

function unitsOf(work: (budget: Budget) => void): number {
  const budget = newBudget(PLENTY);
  work(budget);
  return PLENTY - budget.left;
}

Deno.test("a look-up is charged for as many comparisons as the list can be halved", () => {
  const list = scalarListOf(numbers(8_192));
  assert.equal(unitsOf((budget) => isInList(8_191, list, budget)), 2 * 14);
  assert.equal(unitsOf((budget) => isInList("x", list, budget)), 1);
});

Deno.test("a look-up of a text is charged for its characters in each comparison", () => {
  const list = scalarListOf(numbers(128).map((number) => `${LONG}${number}`));
  const units = unitsOf((budget) => isInList(LONG, list, budget));
  assert.equal(units, LONG.length + 8 * (2 + LONG.length / 8));
  assert.throws(() => isInList(LONG, list, newBudget(units - 1)), BudgetSpent);
});

Deno.test("sorting is charged before it begins, by comparisons and by characters", () => {
  const many = numbers(1_000);
  assert.equal(unitsOf((budget) => areDistinct(many, budget)), 1_000 * 10 * 2);
  const texts = many.map((number) => `${"a".repeat(77)}${number + 100}`);
  assert.equal(
    unitsOf((budget) => areDistinct(texts.slice(0, 900), budget)),
    900 * 80 + 900 * 10 * (2 + 80 / 8),
  );
});
