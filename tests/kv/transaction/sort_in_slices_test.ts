/** Sorting in slices gives what sorting at once gives, and lets others run. */

import assert from "node:assert/strict";
import * as fc from "fast-check";
import { openSlices, sortInSlices } from "../../../src/kv/transaction/sort_in_slices.ts";

type Item = readonly [key: number, place: number];

function byKey(a: Item, b: Item): number {
  return a[0] - b[0];
}

/** Few keys, so that many items are equal. */
function itemsOf(keys: readonly number[]): Item[] {
  return keys.map((key, place) => [key, place]);
}

Deno.test("a list of any length is sorted as at once, equal items in their order", async () => {
  const keys = fc.array(fc.nat(300), { maxLength: 3_000, size: "max" });
  await fc.assert(
    fc.asyncProperty(keys, async (keys) => {
      const items = itemsOf(keys);
      const sorted = await sortInSlices(items, byKey, () => undefined);
      assert.deepEqual(sorted, items.toSorted(byKey));
    }),
    { numRuns: 60 },
  );
});

Deno.test("a list around the length of a step is sorted", async () => {
  for (const length of [0, 1, 255, 256, 257, 511, 512, 513, 768, 769]) {
    const items = itemsOf(Array.from({ length }, (_, place) => (place * 7919) % 101));
    const sorted = await sortInSlices(items, byKey, () => undefined);
    assert.deepEqual(sorted, items.toSorted(byKey));
  }
});

Deno.test("others run after each slice of four milliseconds", async () => {
  let nowMs = 0;
  let turns = 0;
  const rest = openSlices(() => nowMs, () => Promise.resolve(void turns++));
  const compare = (a: Item, b: Item) => {
    nowMs += 0.001;
    return byKey(a, b);
  };
  const items = itemsOf(Array.from({ length: 20_000 }, (_, place) => (place * 7919) % 10_007));
  assert.deepEqual(await sortInSlices(items, compare, rest), items.toSorted(byKey));
  // No step has more than 256 * 8 comparisons, which take two milliseconds here.
  assert.ok(turns >= nowMs / 6 - 1, `${turns} turns in ${nowMs} ms`);
  assert.ok(turns <= nowMs / 4);
});
