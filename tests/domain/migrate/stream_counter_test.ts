/** Different texts, counted. */

import assert from "node:assert/strict";
import { createStreamCounter } from "../../../src/domain/migrate/stream_counter.ts";

Deno.test("createStreamCounter() counts each of 200,000 texts once, in any order and however often", () => {
  const counter = createStreamCounter();
  assert.equal(counter.count(), 0);
  for (let round = 0; round < 2; round++) {
    for (let at = 0; at < 200_000; at++) counter.add(`account-${(at * 7_919) % 200_000}`);
  }
  assert.equal(counter.count(), 200_000);
});

Deno.test("createStreamCounter() says so when there are more than its limit", () => {
  const counter = createStreamCounter(10);
  for (let at = 0; at < 10; at++) counter.add(String(at));
  assert.equal(counter.count(), 10);
  counter.add("one more");
  assert.equal(counter.count(), undefined);
});
