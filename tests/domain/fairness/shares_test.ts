/** Shares of a common room: there is always some left for another. */

import assert from "node:assert/strict";
import { openShares } from "../../../src/domain/fairness/shares.ts";

Deno.test("one alone has half of the room, however large what it takes first is", () => {
  const shares = openShares(100);
  assert.equal(shares.isFull(1), false);
  shares.add(1, 49);
  assert.equal(shares.isFull(1), false);
  shares.add(1, 1_000);
  assert.equal(shares.isFull(1), true);
});

Deno.test("there is room for another in any case", () => {
  const shares = openShares(100);
  shares.add(1, 200);
  shares.add(2, 200);
  assert.equal(shares.isFull(3), false);
});

Deno.test("the next one has half of what the others leave", () => {
  const shares = openShares(100);
  shares.add(1, 50);
  shares.add(2, 24);
  assert.equal(shares.isFull(2), false);
  shares.add(2, 1);
  assert.equal(shares.isFull(2), true);
});

Deno.test("what is given back is room again", () => {
  const shares = openShares(100);
  shares.add(1, 60);
  shares.add(1, -60);
  shares.add(2, 40);
  assert.equal(shares.isFull(1), false);
  assert.equal(shares.isFull(2), false);
});
