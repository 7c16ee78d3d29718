/** How many tries may be under way: no listener takes what others need. */

import assert from "node:assert/strict";
import { allowsAnother } from "../../../src/domain/listener/bulkhead.ts";
import { limits } from "../../../src/domain/limits.ts";

/** Each of so many listeners takes what it may, one after the other, until none may have more. */
function fill(listeners: number): number[] {
  const own = new Array<number>(listeners).fill(0);
  for (let hasMore = true; hasMore;) {
    hasMore = false;
    for (const index of own.keys()) {
      const all = own.reduce((sum, each) => sum + each);
      if (!allowsAnother(own[index]!, all)) continue;
      own[index]!++;
      hasMore = true;
    }
  }
  return own;
}

Deno.test("a listener alone has its share, and no more", () => {
  assert.deepEqual(fill(1), [limits.deliveriesPerListenerMax]);
});

Deno.test("however many take all they may, another may begin, as long as they are fewer than all there is", () => {
  for (const listeners of [1, 2, 5, 16, 50, 100, 200, 255]) {
    const own = fill(listeners);
    const all = own.reduce((sum, each) => sum + each);
    assert.ok(all < limits.deliveriesUnderWayMax, `${listeners} listeners have ${all}`);
    assert.ok(allowsAnother(0, all));
    assert.ok(Math.min(...own) > 0, "and each has some");
  }
});

Deno.test("more than all there is never begins", () => {
  assert.ok(!allowsAnother(0, limits.deliveriesUnderWayMax));
});
