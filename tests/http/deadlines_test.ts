/** Many deadlines on one timer: each fires at its time, none twice, and none that was ended. */

import assert from "node:assert/strict";
import { openDeadlines } from "../../src/http/deadlines.ts";

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

Deno.test("openDeadlines() calls what is not ended, once, in the order of the starts", async () => {
  const deadlines = openDeadlines(0.05);
  const called: number[] = [];
  const ends = Array.from({ length: 6 }, (_, n) => deadlines.start(() => called.push(n)));
  for (const n of [1, 4]) ends[n]!();
  await pause(120);
  assert.deepEqual(called, [0, 2, 3, 5]);
});

Deno.test("openDeadlines() never calls before the time is over", async () => {
  const deadlines = openDeadlines(0.1);
  const waits: number[] = [];
  for (let n = 0; n < 10; n++) {
    const startedAt = performance.now();
    deadlines.start(() => waits.push(performance.now() - startedAt));
    await pause(13);
  }
  await pause(150);
  assert.equal(waits.length, 10);
  assert.ok(waits.every((wait) => wait >= 100), `${waits}`);
});

Deno.test("openDeadlines() ends of itself, and begins again", async () => {
  const deadlines = openDeadlines(0.02);
  deadlines.start(() => {})();
  await pause(40);
  const { promise, resolve } = Promise.withResolvers<void>();
  deadlines.start(resolve);
  await promise;
});
