/** A line in which owners take turns. */

import assert from "node:assert/strict";
import { openFairLine } from "../../../src/domain/fairness/fair_line.ts";

/** Takes everything that may go, and returns the names in the order of taking. */
function takeAll(waiting: readonly (readonly [owner: number, name: string])[], barred = 0) {
  const line = openFairLine<number>();
  const taken: string[] = [];
  for (const [owner, name] of waiting) line.push(owner, () => taken.push(name));
  for (;;) {
    const start = line.take((owner) => owner !== barred);
    if (start === undefined) return { taken, line };
    start();
  }
}

Deno.test("owners take turns, and each one's own go in the order they came", () => {
  const { taken } = takeAll([[1, "1a"], [1, "1b"], [1, "1c"], [2, "2a"], [3, "3a"], [2, "2b"]]);
  assert.deepEqual(taken, ["1a", "2a", "3a", "1b", "2b", "1c"]);
});

Deno.test("who may not go is passed over, and stays in the line", () => {
  const { taken, line } = takeAll([[1, "1a"], [2, "2a"], [1, "1b"]], 1);
  assert.deepEqual(taken, ["2a"]);
  assert.equal(line.isEmpty(1), false);
  assert.equal(line.isEmpty(2), true);
});

Deno.test("an empty line has nobody to take", () => {
  assert.equal(openFairLine<string>().take(() => true), undefined);
});
