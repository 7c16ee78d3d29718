/** A template or condition gets a share of its event's budget and returns what is left. */

import assert from "node:assert/strict";
import { BudgetSpent, newBudget, spend } from "../../../src/domain/budget.ts";
import type { Evaluation } from "../../../src/domain/handler/evaluation.ts";
import { limits } from "../../../src/domain/limits.ts";
import { withinShare } from "../../../src/domain/reaction/share.ts";
import { completeEvent } from "./worked_example.ts";

const SHARE = limits.pieceReactionWorkBytesMax;

function evaluationOf(left: number): Evaluation {
  return { state: {}, event: completeEvent({}), bindings: [], budget: newBudget(left) };
}

function spending(units: number) {
  return withinShare(({ budget }) => spend(budget, units));
}

Deno.test("withinShare() takes what is computed from the whole", () => {
  const evaluation = evaluationOf(3 * SHARE);
  spending(10)(evaluation);
  spending(SHARE)(evaluation);
  assert.equal(evaluation.budget.left, 2 * SHARE - 10);
});

Deno.test("withinShare() ends what takes more than a share, though the whole has more", () => {
  const evaluation = evaluationOf(3 * SHARE);
  assert.throws(() => spending(SHARE + 1)(evaluation), BudgetSpent);
  assert.equal(evaluation.budget.left, 2 * SHARE - 1);
});

Deno.test("withinShare() gives no more than the whole has left", () => {
  assert.throws(() => spending(11)(evaluationOf(10)), BudgetSpent);
  spending(10)(evaluationOf(10));
});
