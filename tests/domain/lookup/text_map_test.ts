/** A map of names is what a `Map` of the same entries is, however many there are. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { textMapOf, textSetOf } from "../../../src/domain/lookup/text_map.ts";

/** Names that are often equal, among them such as look like numbers. */
const name = fc.oneof(
  fc.integer({ min: 0, max: 150 }).map((number) => String(number * 65_536)),
  fc.integer({ min: 0, max: 150 }).map((number) => `${"a".repeat(100)}${number}`),
  fc.constantFrom("", "__proto__", "constructor", "\ud800", "\uffff", "\u{1f600}"),
  fc.string({ maxLength: 2 }),
);
const names = fc.integer({ min: 0, max: 200 }).chain((count) =>
  fc.array(name, { minLength: count, maxLength: count })
);

Deno.test("textMapOf() is a Map of the same entries, in the same order", () => {
  fc.assert(fc.property(names, fc.array(name), (listed, others) => {
    const entries = listed.map((each, index) => [each, index] as const);
    const [made, expected] = [textMapOf(entries), new Map(entries)];
    assert.equal(made.size, expected.size);
    assert.deepEqual([...made], [...expected]);
    assert.deepEqual([...made.keys()], [...expected.keys()]);
    assert.deepEqual([...made.values()], [...expected.values()]);
    assert.deepEqual([...made.entries()], [...expected.entries()]);
    for (const each of [...listed, ...others]) {
      assert.equal(made.get(each), expected.get(each));
      assert.equal(made.has(each), expected.has(each));
    }
  }));
});

Deno.test("textMapOf() calls forEach() for each entry, with itself", () => {
  for (const count of [3, 300]) {
    const made = textMapOf(Array.from({ length: count }, (_, index) => [`n${index}`, index]));
    const seen: [string, number][] = [];
    made.forEach((value, each, map) => {
      assert.equal(map, made);
      seen.push([each, value]);
    });
    assert.deepEqual(seen, [...made]);
  }
});

Deno.test("textSetOf() has each name once", () => {
  for (const more of [[], Array.from({ length: 100 }, (_, index) => `${index}`)]) {
    const set = textSetOf(["b", "a", "b", ...more, "a"]);
    assert.deepEqual([...set.keys()], ["b", "a", ...more]);
    assert(set.has("a") && !set.has("c"));
  }
});
