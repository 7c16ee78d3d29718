/**
 * Pages of short lists: 50 entries by default, at most 200, `truncated` exact. See
 * docs/reference/reading.md.
 */

import assert from "node:assert/strict";
import { pageOf } from "../../src/http/list_page.ts";

function names(count: number): string[] {
  return Array.from({ length: count }, (_, index) => String(count - index).padStart(4, "0"));
}

Deno.test("pageOf() sorts byte-wise, defaults to 50 and clamps to 200 with a note", () => {
  const page = pageOf(names(300), (name) => name, {});
  assert.deepEqual([page.data.length, page.limit, page.limit_clamped], [50, 50, undefined]);
  assert.equal(page.data[0], "0001");
  const clamped = pageOf(names(300), (name) => name, { limit: 900 });
  assert.deepEqual([clamped.data.length, clamped.limit, clamped.limit_clamped], [200, 200, true]);
});

Deno.test("pageOf() gives every item once over all pages of every size", () => {
  for (let size = 1; size <= 12; size++) {
    const seen: string[] = [];
    let start: string | undefined;
    for (let turn = 0; turn < 20; turn++) {
      const page = pageOf(names(10), (name) => name, { limit: size, start });
      seen.push(...page.data);
      assert.equal(page.truncated, page.next_start !== undefined);
      if (!page.truncated) break;
      start = page.next_start;
    }
    assert.deepEqual(seen, names(10).reverse());
  }
});
