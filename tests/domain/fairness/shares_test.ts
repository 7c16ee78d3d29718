/** Shares of a common room: there is always some left for another. */

import assert from "node:assert/strict";
import { openShares, openWaitingRoom } from "../../../src/domain/fairness/shares.ts";

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

/** Enters a room for each row of owner and count; `begun` names those that found room, in order. */
function enterAll(rows: readonly (readonly [owner: number, count: number])[]) {
  const room = openWaitingRoom(100);
  const begun: string[] = [];
  const leaves: (() => void)[] = [];
  for (const [owner, count] of rows) {
    void room.enter(owner, count).then((leave) => {
      begun.push(`${owner}:${count}`);
      leaves.push(leave);
    });
  }
  return { begun, leave: () => leaves.shift()!() };
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

Deno.test("in a waiting room one owner has a quarter, or one larger piece; others go past it", async () => {
  const { begun, leave } = enterAll([[1, 40], [1, 10], [1, 10], [1, 10], [2, 25]]);
  await settled();
  assert.deepEqual(begun, ["1:40", "2:25"]);
  leave();
  await settled();
  assert.deepEqual(begun.slice(2), ["1:10", "1:10"]);
  leave();
  leave();
  await settled();
  assert.deepEqual(begun.slice(4), ["1:10"]);
});

Deno.test("in a waiting room large work is not overtaken for ever by small work of others", async () => {
  const { begun, leave } = enterAll([[1, 60], [2, 60], [3, 20], [4, 20]]);
  await settled();
  assert.deepEqual(begun, ["1:60"]);
  leave();
  await settled();
  assert.deepEqual(begun.slice(1), ["2:60", "3:20", "4:20"]);
});

Deno.test("work that is larger than the waiting room begins when nobody else is in it", async () => {
  const { begun, leave } = enterAll([[1, 10], [2, 500], [3, 1]]);
  await settled();
  assert.deepEqual(begun, ["1:10"]);
  leave();
  await settled();
  assert.deepEqual(begun, ["1:10", "2:500"]);
  leave();
  await settled();
  assert.deepEqual(begun, ["1:10", "2:500", "3:1"]);
});
