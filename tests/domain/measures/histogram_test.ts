/** Histograms: counting values by size. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { newHistogram, observe } from "../../../src/domain/measures/histogram.ts";

Deno.test("observe() counts a value that equals a bound under it, and what is above all last", () => {
  const histogram = newHistogram([1, 2, 5]);
  for (const value of [0, 1, 1.5, 2, 5, 5.1, 100]) observe(histogram, value);
  assert.deepEqual(histogram.counts, [2, 2, 1, 2]);
  assert.ok(Math.abs(histogram.sum - 114.6) < 1e-9);
});

Deno.test("observe() counts as filtering would", () => {
  const bound = fc.integer({ min: -100, max: 100 });
  const bounds = fc.uniqueArray(bound).map((list) => list.sort((a, b) => a - b));
  fc.assert(fc.property(bounds, fc.array(fc.integer({ min: -150, max: 150 })), (bounds, values) => {
    const histogram = newHistogram(bounds);
    for (const value of values) observe(histogram, value);
    let total = 0;
    for (const [index, bound] of bounds.entries()) {
      total += histogram.counts[index]!;
      assert.equal(total, values.filter((value) => value <= bound).length);
    }
    assert.equal(total + histogram.counts.at(-1)!, values.length);
    assert.equal(histogram.sum, values.reduce((sum, value) => sum + value, 0));
  }));
});
