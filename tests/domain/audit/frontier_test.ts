/** A tree that grows leaf by leaf has the same root as a tree built at once. */

import assert from "node:assert/strict";
import {
  decodeFrontier,
  EMPTY_FRONTIER,
  encodeFrontier,
  extendFrontier,
  extendFrontierBy,
  type Frontier,
  frontierRoot,
  peakCount,
} from "../../../src/domain/audit/frontier.ts";
import { merkleRoot } from "../../../src/domain/audit/merkle.ts";
import golden from "../../golden/audit/merkle.json" with { type: "json" };

function grow(values: readonly string[]): Frontier {
  return values.reduce((frontier, value) => extendFrontier(frontier, value), EMPTY_FRONTIER);
}

Deno.test("frontierRoot() after each of 70 leaves is the oracle's root", () => {
  let frontier = EMPTY_FRONTIER;
  for (const { count, root } of golden.trees) {
    frontier = extendFrontier(frontier, golden.values[count - 1]!);
    assert.equal(frontier.count, count);
    assert.equal(frontierRoot(frontier), root);
  }
});

Deno.test("a frontier that was kept as bytes after any leaf goes on as if it had not been", () => {
  let frontier = EMPTY_FRONTIER;
  for (const { count, root } of golden.trees) {
    const kept = decodeFrontier(frontier.count, encodeFrontier(frontier));
    frontier = extendFrontier(kept, golden.values[count - 1]!);
    assert.equal(encodeFrontier(frontier).length, 32 * peakCount(count));
    assert.equal(frontierRoot(frontier), root);
  }
});

Deno.test("a frontier has one peak for each bit of its count: at most 20 for a million leaves", () => {
  assert.deepEqual([0, 1, 2, 3, 7, 8, 1_000_000].map(peakCount), [0, 1, 1, 2, 3, 1, 7]);
  assert.equal(grow(golden.values.slice(0, 7)).peaks.length, 3);
  assert.equal(grow(golden.values.slice(0, 8)).peaks.length, 1);
});

Deno.test("several leaves at once make the frontier that they make one by one", () => {
  for (let from = 0; from <= 70; from++) {
    const before = grow(golden.values.slice(0, from));
    for (let to = from; to <= 70; to++) {
      const together = extendFrontierBy(before, golden.values.slice(from, to));
      assert.deepEqual(together, grow(golden.values.slice(0, to)));
    }
  }
});

Deno.test("extendFrontier() leaves the frontier that it was given as it was", () => {
  const seven = grow(golden.values.slice(0, 7));
  const before = frontierRoot(seven);
  extendFrontier(seven, golden.values[7]!);
  assert.equal(frontierRoot(seven), before);
});

Deno.test("frontierRoot() over 4,097 leaves is the root over all of them", () => {
  const values = Array.from({ length: 4097 }, (_, number) => number.toString(16).padStart(64, "0"));
  assert.equal(frontierRoot(grow(values)), merkleRoot(values));
});

Deno.test("bytes that are no frontier of that count are refused", () => {
  const bytes = encodeFrontier(grow(golden.values.slice(0, 7)));
  assert.throws(() => decodeFrontier(8, bytes));
  assert.throws(() => decodeFrontier(7, bytes.subarray(1)));
  assert.throws(() => frontierRoot(EMPTY_FRONTIER));
});
