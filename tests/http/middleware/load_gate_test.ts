/** `openDrain()` waits for work under way, and not for work that comes later. */

import assert from "node:assert/strict";
import { openDrain } from "../../../src/http/middleware/load_gate.ts";

async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const turn = new Promise((resolve) => setTimeout(resolve, 0, "turn"));
  return await Promise.race([promise, turn]) !== "turn";
}

Deno.test("a stop with nothing under way is over at once", async () => {
  const drain = openDrain();
  assert.equal(drain.isStopping(), false);
  await drain.stop();
  assert.equal(drain.isStopping(), true);
});

Deno.test("a stop waits for everything that has come before it", async () => {
  const drain = openDrain();
  for (let count = 0; count < 3; count++) assert.equal(drain.enter(), true);
  drain.leave();
  const stopped = drain.stop();
  drain.leave();
  assert.equal(await isSettled(stopped), false);
  drain.leave();
  await stopped;
});

Deno.test("what begins after the stop does not hold it up", async () => {
  const drain = openDrain();
  drain.enter();
  const stopped = drain.stop();
  assert.equal(drain.enter(), false);
  drain.leave();
  await stopped;
});
