/** How a distance in time is put into words. */

import assert from "node:assert/strict";
import { distance } from "../../../console/src/parts/distance.ts";

const NOW = Date.UTC(2026, 0, 1);
const SECOND = 1000;

const CASES: readonly (readonly [ms: number, words: string])[] = [
  [-2 * SECOND, "2 seconds ago"],
  [-59 * SECOND, "59 seconds ago"],
  [-60 * SECOND, "1 minute ago"],
  [-3599 * SECOND, "59 minutes ago"],
  [2 * 3600 * SECOND, "in 2 hours"],
  [26 * 3600 * SECOND, "tomorrow"],
  [-3 * 86_400 * SECOND, "3 days ago"],
  [-400 * 86_400 * SECOND, "last year"],
];

for (const [ms, words] of CASES) {
  Deno.test(`${ms / SECOND} seconds from now is "${words}"`, () => {
    assert.equal(distance(NOW + ms, NOW), words);
  });
}
