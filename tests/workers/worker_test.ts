/** The one loop of all workers. */

import assert from "node:assert/strict";
import { runWorker, type Worker } from "../../src/workers/worker.ts";
import { fakeHost } from "../support/fake_host.ts";

/** A worker that finds the given amounts of work, one for each drain, and then nothing. */
function scripted(amounts: (number | Error)[]): { worker: Worker; drained: () => Promise<void> } {
  let finish = () => {};
  const drained = new Promise<void>((resolve) => finish = resolve);
  const worker: Worker = {
    name: "scripted",
    idleMs: 60_000,
    drain() {
      const amount = amounts.shift();
      if (amount === undefined) finish();
      if (amount instanceof Error) return Promise.reject(amount);
      return Promise.resolve(amount ?? 0);
    },
  };
  return { worker, drained: () => drained };
}

Deno.test("runWorker() drains until nothing is due, and stops at once while it waits", async () => {
  const { worker, drained } = scripted([3, 2, 1]);
  const running = runWorker(worker, fakeHost());
  await drained();
  await running.stop();
});

Deno.test("runWorker() lets work gather after it has done all there was, and only then", async () => {
  const drainedMs: number[] = [];
  const { worker, drained } = scripted([100, 100, 3, 2]);
  const drain = (limit: number) => {
    drainedMs.push(performance.now());
    return worker.drain(limit);
  };
  const running = runWorker({ ...worker, gatherMs: 50, drain }, fakeHost());
  await drained();
  const pauses = drainedMs.slice(1).map((ms, at) => ms - drainedMs[at]!);
  // Timers fire slightly early.
  assert.ok(pauses[2]! > 45 && pauses[3]! > 45, `it has waited for ${pauses}`);
  assert.equal(drainedMs.length, 5);
  await running.stop();
});

Deno.test("runWorker() logs and counts a drain that throws, and goes on", async () => {
  const host = fakeHost();
  const { worker, drained } = scripted([1, new Error("the store is away"), 1]);
  const failures = new Map<string, number>();
  const running = runWorker(worker, host, failures);
  await drained();
  await running.stop();
  assert.deepEqual([...failures], [["scripted", 1]]);
  assert.deepEqual(host.lines.map(({ level, message, fields }) => [level, message, fields]), [
    ["error", "The scripted worker failed and goes on later", { reason: "the store is away" }],
  ]);
});

Deno.test("runWorker() lets a drain under way end before it stops, and begins no other", async () => {
  let ends = 0;
  let begins = 0;
  const worker: Worker = {
    name: "slow",
    idleMs: 0,
    async drain() {
      begins++;
      await new Promise((resolve) => setTimeout(resolve, 20));
      ends++;
      return 1;
    },
  };
  const running = runWorker(worker, fakeHost());
  await running.stop();
  assert.deepEqual([begins, ends], [1, 1]);
});
