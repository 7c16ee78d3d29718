/** Who is next: shares by time, pauses of modules that do not end, bounds. Time is a number here. */

import assert from "node:assert/strict";
import { fairQueue, pauseAfter, type Waiting } from "../../src/wasm/fair_queue.ts";

const LIMITS = { runners: 3, waitingPerTenantMax: 10, waitMsMax: 2_000 };

function waiting(tenant: string, lane = "module", job = 0, sinceMs = 0): Waiting<number> {
  return { tenant, lane, job, sinceMs };
}

Deno.test("a queue gives each of two tenants half of the time, however long their calls take", () => {
  const queue = fairQueue<number>({ ...LIMITS, runners: 1 });
  const usedMs: Record<string, number> = { long: 0, short: 0 };
  const costMs: Record<string, number> = { long: 100, short: 1 };
  // Each has one call waiting at any time.
  for (const tenant of ["long", "short"]) queue.push(waiting(tenant), false);
  for (let nowMs = 0; nowMs < 10_000;) {
    const next = queue.take(nowMs)!;
    const { tenant } = next;
    nowMs += costMs[tenant]!;
    usedMs[tenant]! += costMs[tenant]!;
    queue.finish(next, costMs[tenant]!, false, nowMs);
    queue.push(waiting(tenant, "module", 0, nowMs), false);
  }
  assert(Math.abs(usedMs.long! - usedMs.short!) <= 100, JSON.stringify(usedMs));
});

Deno.test("a queue saves nothing up for a tenant that was away", () => {
  const queue = fairQueue<number>({ ...LIMITS, runners: 1 });
  function run(tenant: string, ms: number): void {
    queue.push(waiting(tenant), false);
    const next = queue.take(0)!;
    assert.equal(next.tenant, tenant);
    queue.finish(next, ms, false, 0);
  }
  run("away", 1);
  for (let turn = 0; turn < 100; turn++) run("busy", 100);
  // Both come at once: they take turns, though one has used 10 seconds and the other nothing.
  const order: string[] = [];
  for (const tenant of ["busy", "away", "busy", "away", "busy", "away"]) {
    queue.push(waiting(tenant), false);
  }
  for (let turn = 0; turn < 6; turn++) {
    const next = queue.take(0)!;
    order.push(next.tenant);
    queue.finish(next, 100, false, 0);
  }
  assert.deepEqual(order.slice(0, 5), ["away", "busy", "away", "busy", "away"]);
});

Deno.test("a queue never gives one tenant the last runner, unless there is one only", () => {
  for (const [runners, expected] of [[1, 1], [2, 1], [3, 2], [8, 7]] as const) {
    const queue = fairQueue<number>({ ...LIMITS, runners });
    for (let job = 0; job < 10; job++) queue.push(waiting("greedy", "module", job), false);
    const running: number[] = [];
    for (let next = queue.take(0); next !== undefined; next = queue.take(0)) running.push(next.job);
    assert.deepEqual(running, Array.from({ length: expected }, (_, job) => job));
    queue.push(waiting("other"), false);
    assert.equal(queue.take(0)?.tenant, "other");
  }
});

Deno.test("pauseAfter() grows from once to fifteen times the time of the call, up to ten seconds", () => {
  const pauses = [1, 2, 3, 4, 5, 100].map((timeouts) => pauseAfter(timeouts, 100));
  assert.deepEqual(pauses, [100, 300, 700, 1_500, 1_500, 1_500]);
  assert.equal(pauseAfter(4, 5_000), 10_000);
});

Deno.test("a queue pauses a module that does not end, and lets other modules of the tenant run", () => {
  const queue = fairQueue<number>(LIMITS);
  for (let job = 0; job < 2; job++) queue.push(waiting("tenant", "loops", job), false);
  queue.finish(queue.take(0)!, 100, true, 100);
  assert.equal(queue.take(100), undefined);
  assert.equal(queue.nextChangeMs(), 200);
  queue.push(waiting("tenant", "fine", 7, 100), false);
  const fine = queue.take(150)!;
  assert.equal(fine.job, 7);
  // One at a time, while a module of the tenant is suspect.
  assert.equal(queue.take(200), undefined);
  queue.finish(fine, 1, false, 200);
  const again = queue.take(200)!;
  assert.deepEqual([again.lane, again.job], ["loops", 1]);
  queue.finish(again, 1, false, 201);
  // It has ended in time, so nothing is held against it.
  for (let job = 0; job < 3; job++) queue.push(waiting("tenant", "loops", job, 201), false);
  assert.deepEqual([queue.take(201)?.job, queue.take(201)?.job, queue.take(201)], [
    0,
    1,
    undefined,
  ]);
});

Deno.test("a queue gives a module that loops for ever a sixteenth of the time of one runner", () => {
  const queue = fairQueue<number>(LIMITS);
  let usedMs = 0;
  let nowMs = 0;
  queue.push(waiting("tenant"), false);
  while (nowMs < 60_000) {
    queue.expire(nowMs);
    const next = queue.take(nowMs);
    if (next === undefined) nowMs += 10;
    else {
      nowMs += 100;
      usedMs += 100;
      queue.finish(next, 100, true, nowMs);
    }
    if (queue.waiting() === 0) queue.push(waiting("tenant", "module", 0, nowMs), false);
  }
  assert(usedMs >= 60_000 / 16 - 200 && usedMs <= 60_000 / 16 + 1_000, `${usedMs} ms`);
});

Deno.test("a queue refuses more than so many calls of a tenant, and takes those that go on", () => {
  const queue = fairQueue<number>(LIMITS);
  for (let job = 0; job < 10; job++) assert(queue.push(waiting("full", "module", job), false));
  assert(!queue.push(waiting("full"), false));
  assert(queue.push(waiting("full"), true));
  assert(queue.push(waiting("other"), false));
  assert.equal(queue.waiting(), 12);
});

Deno.test("a queue turns away what has waited too long, and says whether its module is paused", () => {
  const queue = fairQueue<number>(LIMITS);
  queue.push(waiting("a", "loops", 1, 0), false);
  queue.push(waiting("a", "loops", 2, 500), false);
  queue.push(waiting("a", "loops", 3, 501), false);
  queue.push(waiting("b", "waits", 4, 500), false);
  queue.finish(queue.take(0)!, 5_000, true, 500);
  assert.equal(queue.nextChangeMs(), 2_500);
  assert.deepEqual(queue.expire(2_499), []);
  assert.deepEqual(queue.expire(2_500), [
    { job: 2, timeoutsInARow: 1 },
    { job: 4, timeoutsInARow: 0 },
  ]);
  assert.equal(queue.waiting(), 1);
  assert.deepEqual(queue.drain(), [3]);
  assert.equal(queue.nextChangeMs(), undefined);
});
