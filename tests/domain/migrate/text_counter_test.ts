/** Different texts, counted and known again. */

import assert from "node:assert/strict";
import { createTextCounter } from "../../../src/domain/migrate/text_counter.ts";

Deno.test("createTextCounter() counts each of 200,000 texts once, in any order and however often", () => {
  const counter = createTextCounter();
  assert.equal(counter.count(), 0);
  for (let round = 0; round < 2; round++) {
    for (let at = 0; at < 200_000; at++) counter.add(`account-${(at * 7_919) % 200_000}`);
  }
  assert.equal(counter.count(), 200_000);
});

Deno.test("createTextCounter() says so when there are more than its limit", () => {
  const counter = createTextCounter(10);
  for (let at = 0; at < 10; at++) counter.add(String(at));
  assert.equal(counter.count(), 10);
  counter.add("one more");
  assert.equal(counter.count(), undefined);
});

Deno.test("createTextCounter() tells whether a text was added before, until there are too many", () => {
  const counter = createTextCounter(3);
  const added = ["", "a", "a", "b", "", "c", "d", "d", "a"].map((text) => counter.add(text));
  assert.deepEqual(added, [true, true, false, true, false, true, true, true, true]);
});
