/** Work that waits only where it must. */

import assert from "node:assert/strict";
import { type Awaiting, runSoon } from "../../src/domain/soon.ts";

function* double(given: number | Promise<number>): Awaiting<number> {
  const number = given instanceof Promise ? (yield given) as number : given;
  return 2 * number;
}

function* rescue(given: Promise<number>): Awaiting<string> {
  try {
    return String(yield* double(given));
  } catch (error) {
    return `rescued from ${error}`;
  }
}

Deno.test("work that waits for nothing is done at once", () => {
  assert.equal(runSoon(double(2)), 4);
});

Deno.test("work that waits goes on with what it waited for", async () => {
  function* all(): Awaiting<number> {
    return (yield* double(1)) + (yield* double(Promise.resolve(2))) + (yield* double(3)) +
      (yield* double(Promise.resolve(4)));
  }
  assert.equal(await runSoon(all()), 20);
});

Deno.test("a rejection is thrown where it was waited for", async () => {
  assert.equal(await runSoon(rescue(Promise.reject("a loss"))), "rescued from a loss");
  await assert.rejects(Promise.resolve(runSoon(double(Promise.reject(new Error("lost"))))), /lost/);
});

Deno.test("what the work throws is thrown at once, or rejects if it had to wait", async () => {
  function* fail(given: number | Promise<number>): Awaiting<number> {
    const number = yield* double(given);
    throw new Error(`fails with ${number}`);
  }
  assert.throws(() => runSoon(fail(1)), /fails with 2/);
  await assert.rejects(Promise.resolve(runSoon(fail(Promise.resolve(2)))), /fails with 4/);
});
