/** The budget that work draws on: what it takes, and when it is used up. */

import assert from "node:assert/strict";
import {
  type Budget,
  BudgetSpent,
  checkTime,
  newBudget,
  newPieceBudget,
  newPieceOf,
  newShare,
  newTimedBudget,
  PIECE_UNITS,
  spend,
} from "../../src/domain/budget.ts";

Deno.test("spend() takes units until none are left, and then throws BudgetSpent", () => {
  const budget = newBudget(10);
  spend(budget, 7);
  spend(budget, 3);
  assert.equal(budget.left, 0);
  assert.throws(() => spend(budget, 1), BudgetSpent);
});

Deno.test("spend() does not give back what a refused piece of work has taken", () => {
  const budget = newBudget(10);
  assert.throws(() => spend(budget, 11), BudgetSpent);
  assert.throws(() => spend(budget, 0), BudgetSpent);
});

Deno.test("a budget of one slice ends with its units, and some milliseconds after its slice", () => {
  const clock = { nowMs: 100, monotonicMs: () => clock.nowMs };
  const budget = newPieceBudget(clock);
  assert.equal(budget.left, PIECE_UNITS);
  clock.nowMs += 10;
  checkTime(budget);
  assert.equal(budget.left, PIECE_UNITS);
  clock.nowMs += 100;
  assert.throws(() => checkTime(budget), BudgetSpent);
  assert.throws(() => spend(budget, 0), BudgetSpent);
  assert.equal(newPieceBudget(clock, 7).left, 7);
});

/** Time passes at each look, from the given one on. */
function clockFrom(lateFrom: number, stepMs = 30) {
  let [looks, nowMs] = [0, 0];
  return {
    monotonicMs: () => nowMs += ++looks > lateFrom ? stepMs : 0,
    looks: () => looks,
  };
}

Deno.test("spend() looks at the clock every few thousand units, and throws when time is up", () => {
  const clock = clockFrom(Infinity);
  const budget = newPieceBudget(clock);
  for (let steps = 0; steps < 1_000; steps++) spend(budget, 40);
  assert.ok(clock.looks() > 10 && clock.looks() < 40, `${clock.looks()} looks`);
  const late = newPieceBudget(clockFrom(3));
  let steps = 0;
  assert.throws(
    () => {
      for (; steps < 10_000; steps++) spend(late, 40);
    },
    (error) => error instanceof BudgetSpent && error.ran === "late",
  );
  assert.ok(steps < 1_000, `${steps} steps`);
  assert.throws(() => spend(late, 0), BudgetSpent);
});

Deno.test("few units that are slow more often than not end the slice early, and interruptions do not", () => {
  const slow = newPieceBudget(clockFrom(1, 1.6));
  let steps = 0;
  const work = (budget: Budget, units: number) => () => {
    for (steps = 0; steps < 100; steps++) spend(budget, units);
  };
  assert.throws(work(slow, 3_000), (error) => (error as BudgetSpent).ran === "slow");
  assert.equal(steps, 3);
  // As many milliseconds for much more work.
  assert.throws(
    work(newPieceBudget(clockFrom(1, 1.6)), 20_000),
    (error) => (error as BudgetSpent).ran === "late",
  );
  let nowMs = 0;
  const clock = { monotonicMs: () => nowMs };
  const interrupted = newPieceBudget(clock);
  for (let pause = 0; pause < 10; pause++) {
    nowMs += 1.9;
    work(interrupted, 1_000)();
  }
  nowMs += 1.9;
  assert.throws(work(interrupted, 1_000), (error) => (error as BudgetSpent).ran === "late");
});

Deno.test("a share has the time of its budget, and units of its own", () => {
  const clock = clockFrom(1);
  const budget = newPieceBudget(clock);
  const share = newShare(budget, 10_000);
  assert.throws(() => spend(share, 9_000), (error) => (error as BudgetSpent).ran === "late");
  assert.equal(budget.left, PIECE_UNITS);
  const timeless = newShare(newBudget(5), 10_000);
  spend(timeless, 10_000);
  assert.throws(() => spend(timeless, 1), (error) => (error as BudgetSpent).ran === "out");
});

Deno.test("the time of a piece of a timed budget begins with the first look at the clock", () => {
  const clock = clockFrom(0, 15);
  const piece = newPieceOf(newTimedBudget(clock, 20_000));
  assert.deepEqual([piece.left, clock.looks()], [20_000, 0]);
  spend(piece, 5_000);
  spend(piece, 5_000);
  assert.throws(() => spend(piece, 5_000), (error) => (error as BudgetSpent).ran === "late");
  assert.equal(newPieceOf(newBudget(Infinity)).left, PIECE_UNITS);
  assert.equal(newPieceOf({ ...newBudget(1), left: -3 }).left, 0);
  const few = [newPieceOf(newTimedBudget(clock, 3)), newPieceBudget(clock, 3), newShare(piece, 3)];
  for (const budget of few) {
    spend(budget, 3);
    assert.throws(() => spend(budget, 1), (error) => (error as BudgetSpent).ran === "out");
  }
});

Deno.test("the time of other budgets is never up", () => {
  const budget = newBudget(1);
  checkTime(budget);
  assert.equal(budget.left, 1);
});
