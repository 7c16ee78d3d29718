/**
 * Pages of lists: 50 entries by default, at most 200, and `truncated` is exact. See
 * docs/reference/reading.md.
 */

import assert from "node:assert/strict";
import { checkStart, cutPage, listPage, pageLimit, pageOf } from "../../src/domain/list_page.ts";
import { refusalOf } from "../support/service_fixture.ts";

function names(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `n${index}`);
}

Deno.test("pageLimit() is 50 where nothing is asked for, and 200 at most", () => {
  const limits = [undefined, 1, 50, 200, 201, 5_000].map((asked) => pageLimit(asked));
  assert.deepEqual(limits, [50, 1, 50, 200, 200, 200]);
});

Deno.test("cutPage() is truncated exactly where there is one more, and goes on behind its last", () => {
  for (let limit = 1; limit <= 4; limit++) {
    for (let count = 0; count <= limit + 1; count++) {
      const page = cutPage(names(count), limit, (name) => `after ${name}`);
      assert.deepEqual(page.data, names(Math.min(count, limit)));
      assert.equal(page.limit, limit);
      assert.equal(page.truncated, count > limit);
      assert.equal(page.next_start, count > limit ? `after n${limit - 1}` : undefined);
      assert.equal(page.limit_clamped, undefined);
    }
  }
});

Deno.test("a page is said to be clamped exactly where more were asked for than it may have", () => {
  const clamped = [undefined, 199, 200, 201].map((asked) =>
    listPage([], asked, undefined).limit_clamped
  );
  assert.deepEqual(clamped, [undefined, undefined, undefined, true]);
});

Deno.test("the fields of a page stand in one order in its body, and absent ones are left out", () => {
  assert.equal(
    JSON.stringify(listPage([1], 1, undefined)),
    '{"data":[1],"limit":1,"truncated":false}',
  );
  assert.equal(
    JSON.stringify(listPage([1], 201, "x")),
    '{"data":[1],"limit":200,"truncated":true,"next_start":"x","limit_clamped":true}',
  );
});

Deno.test("checkStart() refuses cursors that are too long, and names the limit", () => {
  assert.ok(checkStart(undefined, 3).ok && checkStart("abc", 3).ok);
  assert.deepEqual(refusalOf(checkStart("abcd", 3)), {
    kind: "bad_request",
    message: "start must be at most 3 characters",
    path: "start",
  });
});

/** In descending order. */
function numbers(count: number): string[] {
  return Array.from({ length: count }, (_, index) => String(count - index).padStart(4, "0"));
}

Deno.test("pageOf() sorts byte-wise, defaults to 50 and clamps to 200 with a note", () => {
  const page = pageOf(numbers(300), (name) => name, {});
  assert.deepEqual([page.data.length, page.limit, page.limit_clamped], [50, 50, undefined]);
  assert.equal(page.data[0], "0001");
  const clamped = pageOf(numbers(300), (name) => name, { limit: 900 });
  assert.deepEqual([clamped.data.length, clamped.limit, clamped.limit_clamped], [200, 200, true]);
});

Deno.test("pageOf() gives every item once over all pages of every size", () => {
  for (let size = 1; size <= 12; size++) {
    const seen: string[] = [];
    let start: string | undefined;
    for (let turn = 0; turn < 20; turn++) {
      const page = pageOf(numbers(10), (name) => name, { limit: size, start });
      seen.push(...page.data);
      assert.equal(page.truncated, page.next_start !== undefined);
      if (!page.truncated) break;
      start = page.next_start;
    }
    assert.deepEqual(seen, numbers(10).reverse());
  }
});
