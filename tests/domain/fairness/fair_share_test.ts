/** What a round takes for tenants other than those that are first in line. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { takeOthers } from "../../../src/domain/fairness/fair_share.ts";

function of(...tenants: readonly number[]) {
  return tenants.map((tenant, at) => ({ tenant, at }));
}

Deno.test("takeOthers() takes in order what is of tenants that have nothing first in line", () => {
  const window = of(1, 2, 1, 3, 2, 1);
  const { taken, last } = takeOthers(of(1), window, 10);
  assert.deepEqual(taken, [window[1], window[3], window[4]]);
  assert.equal(last, window[5], "all of it was looked at");
});

Deno.test("takeOthers() stops when it has enough, and says where", () => {
  const window = of(1, 2, 1, 3, 2, 1);
  assert.deepEqual(takeOthers(of(1), window, 2), {
    taken: [window[1], window[3]],
    last: window[3],
  });
});

Deno.test("takeOthers() of an empty window has looked at nothing", () => {
  assert.deepEqual(takeOthers(of(1), [], 5), { taken: [], last: undefined });
});

Deno.test("windows that follow each other take each tenant's own, however they are cut", () => {
  const tenants = fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 60 });
  const bound = fc.integer({ min: 1, max: 7 });
  fc.assert(fc.property(tenants, bound, bound, (numbers, size, max) => {
    const all = of(...numbers);
    const found: typeof all = [];
    let at = 0;
    for (let round = 0; round <= all.length && at < all.length; round++) {
      const { taken, last } = takeOthers(of(1), all.slice(at, at + size), max);
      assert.ok(taken.length <= max);
      found.push(...taken);
      at = last!.at + 1;
    }
    assert.deepEqual(found, all.filter(({ tenant }) => tenant !== 1));
  }));
});
