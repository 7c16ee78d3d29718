/** A map and a set of texts do what `Map` and `Set` do, in the same order. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { createRandom } from "../../crash/random.ts";
import { hashText, TextMap, TextSet } from "../../../src/domain/lookup/text_map.ts";

/** Texts that are often equal, among them such as look like numbers. */
const text = fc.oneof(
  fc.integer({ min: 0, max: 150 }).map((number) => String(number * 65_536)),
  fc.integer({ min: 0, max: 150 }).map((number) => `${"a".repeat(100)}${number}`),
  fc.constantFrom("", "__proto__", "constructor", "\ud800", "\uffff", "\u{1f600}"),
  fc.string({ maxLength: 2 }),
);
const texts = fc.integer({ min: 0, max: 300 }).chain((count) =>
  fc.array(text, { minLength: count, maxLength: count })
);

type Change = readonly ["set" | "delete" | "clear" | "drop the first", string];
const changes: fc.Arbitrary<Change[]> = fc.array(
  fc.tuple(
    fc.constantFrom(
      ...Array<"set">(40).fill("set"),
      ...Array<"delete">(20).fill("delete"),
      ...Array<"drop the first">(20).fill("drop the first"),
      "clear" as const,
    ),
    text,
  ),
  { maxLength: 600 },
);

function assertSame(made: TextMap<number>, expected: Map<string, number>): void {
  assert.equal(made.size, expected.size);
  assert.deepEqual([...made], [...expected]);
  assert.deepEqual([...made.keys()], [...expected.keys()]);
  assert.deepEqual([...made.values()], [...expected.values()]);
  assert.deepEqual([...made.entries()], [...expected.entries()]);
}

Deno.test("a TextMap of entries is a Map of them, in the same order", () => {
  fc.assert(fc.property(texts, fc.array(text), (listed, others) => {
    const entries = listed.map((each, index) => [each, index] as const);
    const [made, expected] = [new TextMap(entries), new Map(entries)];
    assertSame(made, expected);
    for (const each of [...listed, ...others]) {
      assert.equal(made.get(each), expected.get(each));
      assert.equal(made.has(each), expected.has(each));
    }
  }));
});

Deno.test("a TextMap changes as a Map does", () => {
  fc.assert(fc.property(changes, fc.nat(200), (changes, first) => {
    const [made, expected] = [new TextMap<number>(), new Map<string, number>()];
    for (let index = 0; index < first; index++) {
      made.set(`first ${index}`, index);
      expected.set(`first ${index}`, index);
    }
    for (const [index, [what, each]] of changes.entries()) {
      if (what === "set") {
        assert.equal(made.set(each, index), made);
        expected.set(each, index);
      } else if (what === "delete") assert.equal(made.delete(each), expected.delete(each));
      else if (what === "clear") {
        made.clear();
        expected.clear();
      } else {
        const [oldest] = made.keys();
        assert.equal(oldest, [...expected.keys()][0]);
        if (oldest !== undefined) assert.equal(made.delete(oldest), expected.delete(oldest));
      }
      assert.equal(made.get(each), expected.get(each));
    }
    assertSame(made, expected);
  }));
});

/** Two texts with one hash, under the factors of this process. */
function twoOfOneHash(): [string, string] {
  const known = new Map<number, string>();
  const random = createRandom(1);
  // Ids, not numbers: texts that differ in a few digits hardly ever share a hash.
  for (;;) {
    const text = random.uuid();
    const other = known.get(hashText(text));
    if (other !== undefined) return [other, text];
    known.set(hashText(text), text);
  }
}

Deno.test("texts with one hash are told apart", () => {
  const [one, other] = twoOfOneHash();
  const made = new TextMap(Array.from({ length: 20 }, (_, index) => [`${index}`, index]));
  made.set(one, 100);
  assert.equal(made.get(other), undefined);
  made.set(other, 200);
  assert.deepEqual([made.get(one), made.get(other), made.size], [100, 200, 22]);
  assert.ok(made.delete(one));
  assert.deepEqual([made.get(one), made.get(other)], [undefined, 200]);
});

Deno.test("what is deleted while a TextMap is walked is not met, and the rest is", () => {
  for (const count of [5, 500]) {
    const made = new TextMap(Array.from({ length: count }, (_, index) => [`${index}`, index]));
    const met: number[] = [];
    for (const [text, value] of made) {
      met.push(value);
      made.delete(text);
      made.delete(`${value + 1}`);
    }
    assert.deepEqual(met, Array.from({ length: Math.ceil(count / 2) }, (_, index) => 2 * index));
    assert.equal(made.size, 0);
  }
});

Deno.test("forEach() calls for each entry, with the map itself", () => {
  for (const count of [3, 300]) {
    const made = new TextMap(Array.from({ length: count }, (_, index) => [`n${index}`, index]));
    const seen: [string, number][] = [];
    made.forEach((value, each, map) => {
      assert.equal(map, made);
      seen.push([each, value]);
    });
    assert.deepEqual(seen, [...made]);
  }
});

Deno.test("a TextSet is a Set", () => {
  fc.assert(fc.property(texts, fc.array(text), (listed, others) => {
    const [made, expected] = [new TextSet(listed), new Set(listed)];
    for (const each of others) assert.equal(made.delete(each), expected.delete(each));
    for (const each of listed.slice(0, 5)) {
      assert.equal(made.add(each), made);
      expected.add(each);
    }
    assert.equal(made.size, expected.size);
    assert.deepEqual([...made], [...expected]);
    assert.deepEqual([...made.keys()], [...expected.keys()]);
    for (const each of [...listed, ...others]) assert.equal(made.has(each), expected.has(each));
    made.clear();
    assert.deepEqual([made.size, [...made]], [0, []]);
  }));
});
