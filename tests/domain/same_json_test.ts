/** Comparing values in steps: the same answer as comparing their canonical texts. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { canonicalJson } from "../../src/domain/canonical_json.ts";
import { runAtOnce } from "../../src/domain/fairness/pieces.ts";
import type { JsonObject, JsonValue } from "../../src/domain/json.ts";
import { isSameJsonSteps } from "../../src/domain/same_json.ts";
import { countedList } from "../support/counted_list.ts";

function isSame(left: JsonValue, right: JsonValue): boolean {
  return runAtOnce(isSameJsonSteps(left, right));
}

/** The same value with the keys of every object the other way round. */
function turned(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(turned);
  const entries = Object.entries(value).reverse();
  return Object.fromEntries(entries.map(([key, member]) => [key, turned(member)]));
}

/** Few different values, so that pairs are often equal or nearly so. */
const small = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<JsonValue>(0, 1, "", "a", null, true, false),
    fc.array(tie("value"), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom("a", "b", "__proto__", "0"), tie("value"), { maxKeys: 2 }),
  ) as fc.Arbitrary<JsonValue>,
})).value;

Deno.test("two values are the same if their canonical texts are", () =>
  fc.assert(
    fc.property(small, small, (left, right) => {
      // Through JSON, so that `__proto__` is a key like any other.
      const [one, other] = [left, right].map((value) => JSON.parse(JSON.stringify(value)));
      assert.equal(isSame(one, other), canonicalJson(one) === canonicalJson(other));
    }),
    { numRuns: 2_000 },
  ));

Deno.test("a value is the same as a copy of it with other orders of keys", () =>
  fc.assert(fc.property(fc.json(), (json) => {
    const value = JSON.parse(json) as JsonValue;
    assert.equal(isSame(value, turned(value)), true);
  })));

Deno.test("zero is the same as its negative, and an inherited name is no key", () => {
  assert.equal(isSame({ a: [0] }, { a: [-0] }), true);
  assert.equal(isSame({ toString: 1 }, { valueOf: 1 }), false);
  assert.equal(isSame([], {}), false);
  assert.equal(isSame(null, {}), false);
});

Deno.test("lists of a million are compared in steps of a few hundred elements", () => {
  const [left, right] = [countedList(0), countedList(0)];
  const steps = isSameJsonSteps({ a: left.list } as JsonObject, { a: right.list });
  for (let step = steps.next(), before = 0; !step.done; step = steps.next()) {
    assert.ok(left.reads() - before <= 256, `${left.reads() - before} elements in one step`);
    before = left.reads();
  }
  assert.equal(left.reads(), 1_000_000);
});

Deno.test("nothing is read behind the first difference, nor of lists that differ in length", () => {
  const [left, right] = [countedList(0), countedList(0)];
  assert.equal(isSame([1, left.list], [2, right.list]), false);
  assert.equal(isSame([left.list], [countedList(0, 999_999).list]), false);
  assert.equal(left.reads() + right.reads(), 0);
});
