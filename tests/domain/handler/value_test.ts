/** Copies that share nothing, equality by value, own properties only. */

import { deepStrictEqual, notStrictEqual, ok, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { newFoldBudget } from "../../../src/domain/handler/budget.ts";
import { copyValue, equalValues, ownField, putField } from "../../../src/domain/handler/value.ts";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";
import { state } from "./random_handler.ts";

Deno.test("copyValue() gives the same JSON text, and equalValues() finds the two equal", () => {
  fc.assert(fc.property(state, (value) => {
    const copy = copyValue(value, 1, newFoldBudget());
    notStrictEqual(copy, value);
    strictEqual(JSON.stringify(copy), JSON.stringify(value));
    ok(equalValues(copy, value, newFoldBudget()));
  }));
});

Deno.test("equalValues() agrees with text that has its keys sorted", () => {
  fc.assert(
    fc.property(state, state, (left, right) => {
      const isEqual = sortedText(left) === sortedText(right);
      strictEqual(equalValues(left, right, newFoldBudget()), isEqual);
      strictEqual(equalValues(right, left, newFoldBudget()), isEqual);
    }),
    { numRuns: 1_000 },
  );
});

function sortedText(value: JsonValue): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(sortedText).join()}]`;
  const fields = Object.entries(value).map(([key, each]) => [JSON.stringify(key), each] as const);
  return `{${fields.map(([key, each]) => `${key}:${sortedText(each)}`).sort().join()}}`;
}

Deno.test("equalValues() tells objects apart by their keys, whatever the values", () => {
  ok(!equalValues({ a: 1 }, { b: 1 }, newFoldBudget()));
  ok(!equalValues({ a: 1 }, { a: 1, b: 1 }, newFoldBudget()));
  ok(!equalValues({ a: 1, b: 1 }, { a: 1 }, newFoldBudget()));
  ok(!equalValues({ toString: null }, { a: null }, newFoldBudget()));
  ok(!equalValues([], {}, newFoldBudget()));
});

Deno.test("putField() and ownField() know own properties only, __proto__ too", () => {
  const object: JsonObject = {};
  for (const name of ["__proto__", "constructor", "toString"]) {
    strictEqual(ownField(object, name), undefined);
    putField(object, name, { polluted: true });
    deepStrictEqual(ownField(object, name), { polluted: true });
  }
  strictEqual(Object.getPrototypeOf(object), Object.prototype);
  deepStrictEqual(Object.keys(object), ["__proto__", "constructor", "toString"]);
  strictEqual((object as { polluted?: boolean }).polluted, undefined);
});
