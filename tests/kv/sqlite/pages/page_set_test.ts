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
  assert.deepEqual([0, 1, 8, 9, 10, 11].map((page) => set.hasAllUpTo(page, 4096)), [
    true,
    true,
    true,
    true,
    false,
    false,
  ]);
});

Deno.test("a store of more than 1 GiB has a page that is never written, and lacks nothing without it", () => {
  // https://sqlite.org/fileformat2.html#the_lock_byte_page: the one at offset 1,073,741,824.
  const set = newPageSet();
  for (let page = 1; page <= 262_150; page++) if (page !== 262_145) set.add(page);
  assert.equal(set.hasAllUpTo(262_150, 4096), true);
  assert.equal(set.hasAllUpTo(262_151, 4096), false);
  assert.equal(set.hasAllUpTo(262_150, 8192), false, "for another page size it is another page");
});
