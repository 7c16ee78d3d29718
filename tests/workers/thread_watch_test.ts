/** The looks at the clock, in simulated time, and the log line that reports a hold. */

import assert from "node:assert/strict";
import { newHistogram } from "../../src/domain/measures/histogram.ts";
import { beginWork, newThreadWatch } from "../../src/domain/fairness/thread_watch.ts";
import { createApp } from "../../src/http/app.ts";
import type { Service } from "../../src/features/service.ts";
import { watchThread } from "../../src/workers/thread_watch.ts";
import { runWorker } from "../../src/workers/worker.ts";
import { fakeHost } from "../support/fake_host.ts";

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
