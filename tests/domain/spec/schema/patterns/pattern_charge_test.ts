/** What matching a pattern is charged: little for known states, much for new ones. */

import assert from "node:assert/strict";
import { BudgetSpent, newBudget } from "../../../../../src/domain/budget.ts";
import { compilePattern } from "../../../../../src/domain/spec/schema/patterns/pattern.ts";

function mustCompile(source: string) {
  const compiled = compilePattern(source);
  assert(compiled.ok);
  return compiled.pattern;
}

/** No automaton has a shortcut through this text: each step reaches a new state. */
function irregular(length: number): string {
  let text = "";
  for (let seed = 1; text.length < length;) {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    text += seed % 65_536 < 32_768 ? "a" : "b";
  }
  return text;
}

function unitsOf(source: string, text: string): number {
  const budget = newBudget(1e12);
  mustCompile(source).test(text, budget);
  return 1e12 - budget.left;
}

Deno.test("a plain pattern costs a few units for each character of a long text", () => {
  const units = unitsOf("^[^\\u0000]*$", "x".repeat(100_000));
  assert(units < 5 * 100_000, `${units}`);
});

Deno.test("a pattern that needs new states costs by the instructions that are under way", () => {
  const [few, many] = [10, 1_000].map((count) => unitsOf(`a.{${count}}[cd]`, irregular(500)));
  assert(many! > 10 * few!, `${few} and ${many}`);
});

Deno.test("a pattern ends where the budget does, and answers the next text as before", () => {
  const pattern = mustCompile("a.{1000}[cd]");
  assert.throws(() => pattern.test(irregular(20_000), newBudget(1e6)), BudgetSpent);
  assert.equal(pattern.test(`a${"b".repeat(1_000)}c`, newBudget(1e12)), true);
  assert.equal(pattern.test(`a${"b".repeat(999)}c`, newBudget(1e12)), false);
});
