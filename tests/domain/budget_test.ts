/** The budget that work draws on: what it takes, and when it is used up. */

import assert from "node:assert/strict";
import { BudgetSpent, newBudget, spend } from "../../src/domain/budget.ts";

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
