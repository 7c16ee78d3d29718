/** Maps that keep the most recently used entries. */

import assert from "node:assert/strict";
import { createRecentMap, createRecentTexts } from "../../src/domain/recent_map.ts";

Deno.test("createRecentMap() keeps as many entries as it may, those that were used last", () => {
  const map = createRecentTexts<number>(1_000);
  for (let number = 0; number < 1_000; number++) map.set(`${number}`, number);
  assert.equal(map.size, 1_000);
  assert.equal(map.get("0"), 0);
  map.set("1000", 1_000);
  assert.equal(map.size, 1_000);
  assert.equal(map.get("1"), undefined);
  assert.deepEqual([map.get("0"), map.get("2"), map.get("1000")], [0, 2, 1_000]);
});

Deno.test("createRecentMap() counts an entry that is set again once, and forgets what is deleted", () => {
  const map = createRecentMap<number, string>(2);
  for (let time = 0; time < 5; time++) map.set(1, `one ${time}`);
  map.set(2, "two");
  assert.deepEqual([map.get(1), map.get(2)], ["one 4", "two"]);
  map.delete(1);
  map.set(3, "three");
  assert.deepEqual([map.get(1), map.get(2), map.get(3)], [undefined, "two", "three"]);
});

Deno.test("createRecentMap() keeps so much together, and a value that is larger than that", () => {
  const map = createRecentTexts<string>(10, (text) => text.length);
  map.set("a", "12345");
  map.set("b", "12345");
  assert.deepEqual([map.has("a"), map.has("b")], [true, true]);
  map.set("c", "1234");
  assert.deepEqual([map.has("a"), map.has("b"), map.has("c")], [false, true, true]);
  assert.deepEqual([...map.values()], ["1234", "12345"]);
  map.set("d", "x".repeat(1_000));
  assert.equal(map.get("d")?.length, 1_000);
  assert.equal(map.size, 1, "nothing else has room beside it");
  map.set("e", "1");
  assert.deepEqual([map.size, map.get("e")], [1, "1"]);
  map.clear();
  assert.deepEqual([map.size, map.get("e")], [0, undefined]);
});
