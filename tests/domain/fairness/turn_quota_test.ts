/** Steps per turn: how many begin, in which order, and that nobody is forgotten. */

import assert from "node:assert/strict";
import { openTurnQuota } from "../../../src/domain/fairness/turn_quota.ts";

function newTurns() {
  let end: (() => void) | undefined;
  let asked = 0;
  return {
    asked: () => asked,
    next: () => {
      asked++;
      return new Promise<void>((resolve) => void (end = resolve));
    },
    async pass() {
      end!();
      for (let times = 0; times < 5; times++) await Promise.resolve();
    },
  };
}

Deno.test("as many steps begin in one turn as the quota has, the others in turns of their own", async () => {
  const turns = newTurns();
  const quota = openTurnQuota(2, turns.next);
  const order: number[] = [];
  const enter = (step: number) => {
    const turn = quota.enter();
    if (turn === undefined) order.push(step);
    else void turn.then(() => order.push(step));
  };
  for (let step = 1; step <= 5; step++) enter(step);
  assert.deepEqual(order, [1, 2]);
  await turns.pass();
  assert.deepEqual(order, [1, 2, 3, 4]);
  enter(6);
  await turns.pass();
  assert.deepEqual(order, [1, 2, 3, 4, 5, 6]);
});

Deno.test("a turn in which fewer waited has room for those who come in it", async () => {
  const turns = newTurns();
  const quota = openTurnQuota(2, turns.next);
  for (let step = 0; step < 3; step++) void quota.enter();
  await turns.pass();
  assert.equal(quota.enter(), undefined);
  assert.ok(quota.enter() instanceof Promise);
});

Deno.test("a quota that nobody needs asks for no further turns", async () => {
  const turns = newTurns();
  const quota = openTurnQuota(2, turns.next);
  assert.equal(quota.enter(), undefined);
  await turns.pass();
  assert.equal(turns.asked(), 1);
  assert.equal(quota.enter(), undefined);
  assert.equal(turns.asked(), 2);
});
