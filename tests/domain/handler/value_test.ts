/** Copies that share nothing, equality by value, own properties only. */

import { deepStrictEqual, notStrictEqual, ok, strictEqual, throws } from "node:assert/strict";
import fc from "fast-check";
import { newFoldBudget } from "../../../src/domain/handler/budget.ts";
import {
  addField,
  copyValue,
  equalValues,
  ownField,
  putField,
  removeField,
  shareValue,
} from "../../../src/domain/handler/value.ts";
import { StateTooLarge } from "../../../src/domain/handler/handler.ts";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";
import { limits } from "../../../src/domain/limits.ts";
import { state } from "./random_handler.ts";

Deno.test("copyValue() gives the same JSON text, and equalValues() finds the two equal", () => {
  fc.assert(fc.property(state, (value) => {
    const copy = copyValue(value, 1, newFoldBudget());
    notStrictEqual(copy, value);
    strictEqual(JSON.stringify(copy), JSON.stringify(value));
    ok(equalValues(copy, value, newFoldBudget()));
  }));
});

Deno.test("shareValue() gives the value itself, for the price of its copy", () => {
  fc.assert(fc.property(state, (value) => {
    const copying = newFoldBudget();
    const sharing = newFoldBudget();
    copyValue(value, 1, copying);
    strictEqual(shareValue(value, 1, sharing), value);
    strictEqual(sharing.left, copying.left);
  }));
});

Deno.test("shareValue() refuses what nests too deep, as copyValue() does", () => {
  const { stateDepthMax } = limits;
  const nested = { a: [{ b: 1 }] };
  shareValue(nested, stateDepthMax - 2, newFoldBudget());
  throws(() => shareValue(nested, stateDepthMax - 1, newFoldBudget()), StateTooLarge);
  throws(() => copyValue(nested, stateDepthMax - 1, newFoldBudget()), StateTooLarge);
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

/** How long `work` takes on a copy of the object, in milliseconds. */
function msOf(work: (object: JsonObject) => void, object: JsonObject): number {
  const startedMs = performance.now();
  work(object);
  return performance.now() - startedMs;
}

Deno.test("a key that is removed and added again and again does not become slow to find", () => {
  const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`k${n}`, n]));
  const object = JSON.parse(JSON.stringify(many)) as JsonObject;
  const tookMs = msOf((object) => {
    for (let n = 0; n < 20_000; n++) {
      removeField(object, "k5");
      addField(object, "k5", n);
    }
  }, object);
  strictEqual(Object.keys(object).at(-1), "k5");
  // It would take seconds if each earlier place of the key were looked at.
  ok(tookMs < 1_000, `${tookMs} ms`);
});

Deno.test("keys that are numbers far from the others do not copy all of them each time", () => {
  const size = 100_000;
  const many = Object.fromEntries(Array.from({ length: size }, (_, n) => [`${n}`, n]));
  const object = JSON.parse(JSON.stringify(many)) as JsonObject;
  const tookMs = msOf((object) => {
    for (let n = 1; n < 300; n++) {
      addField(object, `${size + 1_100 * n}`, n);
      addField(object, `${size + 1_100 * n + 1}`, n);
      removeField(object, `${size + 1_100 * n + 1}`);
    }
  }, object);
  strictEqual(Object.keys(object).length, size + 299);
  strictEqual(JSON.stringify(object).length, JSON.stringify({ ...object }).length);
  ok(tookMs < 1_000, `${tookMs} ms`);
});

Deno.test("an object with one large number as its key takes no room for the numbers below", () => {
  const list = Array.from({ length: 4_000 }, () => JSON.parse('{"999":0}') as JsonObject);
  const before = Deno.memoryUsage().heapUsed;
  const copy = copyValue(list, 1, newFoldBudget());
  // With room for the numbers below, each took up to 12 KB.
  const bytes = (Deno.memoryUsage().heapUsed - before) / list.length;
  ok(bytes < 3_000, `${bytes} bytes`);
  deepStrictEqual(copy, list);
});
