/** JSON values with the same meaning have one canonical text. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { canonicalJson } from "../../src/domain/canonical_json.ts";
import { isJsonObject, type JsonValue } from "../../src/domain/json.ts";

function reverseKeys(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(reverseKeys);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).reverse().map(([key, item]) => [key, reverseKeys(item)]),
  );
}

const jsonValue = fc.jsonValue({ maxDepth: 5 }).map((value) => value as JsonValue);

Deno.test("canonicalJson() sorts keys at every level and writes no white space", () => {
  assert.equal(
    canonicalJson({ b: [{ d: 1, c: null }], a: "x" }),
    '{"a":"x","b":[{"c":null,"d":1}]}',
  );
});

Deno.test("canonicalJson() sorts number-like keys as text", () => {
  assert.equal(canonicalJson({ 10: 1, 9: 2, a: 3 }), '{"10":1,"9":2,"a":3}');
});

Deno.test("canonicalJson() sorts few keys and many keys alike", () => {
  for (const count of [2, 16, 17, 40]) {
    const keys = Array.from({ length: count }, (_, index) => `k${(index * 7) % count}\u00e9"`);
    const value = Object.fromEntries(keys.map((key) => [key, 1]));
    const sorted = Object.fromEntries(Object.keys(value).sort().map((key) => [key, 1]));
    assert.equal(canonicalJson(value), JSON.stringify(sorted));
  }
});

Deno.test("canonicalJson() writes scalars as JSON does", () => {
  for (
    const value of [0, -0, 1e21, 1e-7, "\u2028", "\ud83d", '"', "\\", "x".repeat(100), null, true]
  ) {
    assert.equal(canonicalJson(value), JSON.stringify(value));
  }
});

Deno.test("canonicalJson() keeps keys such as __proto__ and constructor", () => {
  const value = JSON.parse('{"constructor":1,"__proto__":{"b":1,"a":2}}');
  assert.equal(canonicalJson(value), '{"__proto__":{"a":2,"b":1},"constructor":1}');
});

Deno.test("canonicalJson() gives text that means the same value", () => {
  fc.assert(fc.property(jsonValue, (value) => {
    const text = canonicalJson(value);
    // JSON has no negative zero: compare with the value that JSON text yields.
    assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)));
  }));
});

Deno.test("canonicalJson() does not depend on the order of keys", () => {
  fc.assert(fc.property(jsonValue, (value) => {
    assert.equal(canonicalJson(reverseKeys(value)), canonicalJson(value));
  }));
});

Deno.test("canonicalJson() does not depend on the objects that it has written before", () => {
  // Few letters, so that the same keys recur, in other orders too, beside similar ones.
  const name = fc.string({ unit: fc.constantFrom("a", "b", '"', "é"), maxLength: 3 });
  const named = fc.uniqueArray(name, { maxLength: 4 });
  fc.assert(
    fc.property(fc.array(named, { minLength: 1, maxLength: 40 }), (objects) => {
      for (const keys of objects) {
        const text = canonicalJson(Object.fromEntries(keys.map((key) => [key, key.length])));
        const pairs = keys.toSorted().map((key) => `${JSON.stringify(key)}:${key.length}`);
        assert.equal(text, `{${pairs.join(",")}}`);
      }
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("canonicalJson() writes the same below and above its recursion bound", () => {
  fc.assert(
    fc.property(jsonValue, (value) => {
      let nested: JsonValue = value;
      for (let depth = 0; depth < 250; depth++) nested = [nested];
      assert.equal(canonicalJson(nested), "[".repeat(250) + canonicalJson(value) + "]".repeat(250));
    }),
    { numRuns: 30 },
  );
});

Deno.test("canonicalJson() writes 100,000 levels without overflowing the stack", () => {
  let value: JsonValue = 1;
  for (let depth = 0; depth < 100_000; depth++) value = { a: value };
  assert.equal(canonicalJson(value).length, 100_000 * 6 + 1);
});
