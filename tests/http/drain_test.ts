/** `openDrain()`: what is under way is waited for, what comes later is not. */

import assert from "node:assert/strict";
import { openDrain } from "../../src/http/drain.ts";

const ANSWER = new Response();

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

Deno.test("a stop waits for every answer that was begun before it, also those that fail", async () => {
  const drain = openDrain();
  const [first, second] = [Promise.withResolvers<Response>(), Promise.withResolvers<Response>()];
  const tracked = [drain.track(first.promise), drain.track(second.promise)];
  await drain.track(Promise.resolve(ANSWER));
  const stopped = drain.stop();
  first.resolve(ANSWER);
  assert.equal(await isSettled(stopped), false);
  second.reject(new Error("a fault"));
  await stopped;
  assert.equal(await tracked[0], ANSWER);
  await assert.rejects(tracked[1]!, /a fault/);
});

Deno.test("what begins after the stop does not hold it up", async () => {
  const drain = openDrain();
  const before = Promise.withResolvers<Response>();
  drain.track(before.promise);
  const stopped = drain.stop();
  drain.track(new Promise(() => {}));
  before.resolve(ANSWER);
  await stopped;
});
