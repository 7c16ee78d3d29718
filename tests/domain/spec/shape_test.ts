/** Checks that recur at every level of a spec, and how much of a long list they look at at once. */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { JsonValue } from "../../../src/domain/json.ts";
import { isWithinDepth, isWithinDepthSteps } from "../../../src/domain/spec/shape.ts";
import { countedList } from "../../support/counted_list.ts";

function depthOf(value: JsonValue): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

Deno.test("isWithinDepth() is true up to the depth of a value, and false below it", () =>
  fc.assert(fc.property(fc.json({ maxDepth: 6 }), (json) => {
    const value = JSON.parse(json) as JsonValue;
    const depth = depthOf(value);
    assert.equal(isWithinDepth(value, depth), true);
    assert.equal(isWithinDepth(value, depth + 1), true);
    if (depth > 0) assert.equal(isWithinDepth(value, depth - 1), false);
  })));

Deno.test("the depth of a list of a million is measured in steps of a few hundred elements", () => {
  for (const element of [0, []]) {
    const { list, reads } = countedList(element);
    const steps = isWithinDepthSteps({ list }, 3);
    for (;;) {
      const before = reads();
      const step = steps.next();
      assert.ok(reads() - before <= 256, `${reads() - before} elements in one step`);
      if (!step.done) continue;
      assert.equal(step.value, true);
      break;
    }
    assert.equal(reads(), 1_000_000);
  }
});
