/** The one loop of all workers. */

import assert from "node:assert/strict";
import { runWorker, watchThread, type Worker } from "../../src/workers/worker.ts";
import { fakeHost } from "../support/fake_host.ts";
import { newHistogram } from "../../src/domain/measures/counters.ts";
import { beginWork, newThreadWatch } from "../../src/domain/fairness/thread_watch.ts";
import { createApp } from "../../src/http/app.ts";
import type { Service } from "../../src/features/service.ts";

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

/** The looks at the clock, in simulated time, and the log line that reports a hold. */
function setUp() {
  const host = fakeHost();
  const watch = newThreadWatch(newHistogram([0.05]), host.timeMs);
  return { host, watch, end: watchThread(watch, host) };
}

Deno.test("looks come every 20 ms until they are ended", () => {
  const { host, watch, end } = setUp();
  for (let look = 0; look < 5; look++) host.timeMs += 20;
  assert.deepEqual(watch.delaySeconds.counts, [5, 0]);
  end();
  host.timeMs += 1_000;
  assert.deepEqual(watch.delaySeconds.counts, [5, 0]);
  assert.deepEqual(host.lines, []);
});

Deno.test("a hold is one line that warns, with who it can have been and how long it took", () => {
  const { host, watch, end } = setUp();
  const tenant = { instanceId: "shop", environment: "production", number: 1 } as const;
  const sinceMs = host.timeMs;
  beginWork(watch, { at: 0, sinceMs, worker: "outbox" });
  beginWork(watch, { at: 0, sinceMs, route: "/_sql", method: "POST", owner: { tenant } });
  host.timeMs += 1_234.4;
  end();
  const fields = {
    held_ms: 1_234,
    worker: "outbox",
    since_ms: 1_234,
    under_way: 2,
    others: [
      { route: "POST /_sql", instance: "shop", environment: "production", since_ms: 1_234 },
    ],
  };
  assert.deepEqual(host.lines, [{ level: "warn", message: "Something held the thread", fields }]);
});

Deno.test("the drain of a worker that holds the thread is named", async () => {
  const { host, watch, end } = setUp();
  const { promise: held, resolve } = Promise.withResolvers<void>();
  const running = runWorker(
    {
      name: "snapshots",
      idleMs: 60_000,
      drain() {
        host.timeMs += 500;
        resolve();
        return Promise.resolve(0);
      },
    },
    host,
    new Map(),
    watch,
  );
  await held;
  await running.stop();
  end();
  assert.equal(host.lines[0]!.fields.worker, "snapshots");
  assert.deepEqual(watch.underWay, []);
});

Deno.test("a request that holds the thread is named by its route", async () => {
  const { host, watch, end } = setUp();
  const ping = () => {
    host.timeMs += 500;
    return Promise.resolve();
  };
  const app = createApp({ ping } as unknown as Service, host, {
    headerPrefix: "SVC",
    environment: { kind: "listener", environment: "test" },
    clientAddress: (peer) => peer,
    watch,
  });
  const response = await app.fetch(new Request("http://127.0.0.1/health/ready"));
  end();
  assert.equal(response.status, 200);
  const line = host.lines.find(({ message }) => message === "Something held the thread")!;
  assert.equal(line.fields.route, "GET /health/ready");
  assert.deepEqual(watch.underWay, []);
});
