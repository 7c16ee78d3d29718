/** The budget that work draws on: what it takes, and when it is used up. */

import assert from "node:assert/strict";
import {
  BudgetSpent,
  checkTime,
  newBudget,
  newPieceBudget,
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

Deno.test("the time of other budgets is never up", () => {
  const budget = newBudget(1);
  checkTime(budget);
  assert.equal(budget.left, 1);
});
