/** A set of pages has what was added, in order, whatever the numbers. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { newPageSet } from "../../../../src/kv/sqlite/pages/page_set.ts";

Deno.test("a set of pages is a set of numbers", () => {
  const page = fc.oneof(fc.nat({ max: 70 }), fc.nat({ max: 300_000 }));
  fc.assert(fc.property(fc.array(page), page, (pages, other) => {
    const set = newPageSet();
    for (const each of pages) set.add(each);
    const model = new Set(pages);
    assert.deepEqual([...set.numbers()], [...model].sort((a, b) => a - b));
    for (const each of [other, ...pages]) assert.equal(set.has(each), model.has(each));
  }));
});

Deno.test("a set of pages knows up to where it has all", () => {
  const set = newPageSet();
  for (const page of [1, 2, 3, 4, 5, 6, 7, 8, 9, 11]) set.add(page);
  assert.deepEqual([0, 1, 8, 9, 10, 11].map(set.hasAllUpTo), [
    true,
    true,
    true,
    true,
    false,
    false,
  ]);
});
