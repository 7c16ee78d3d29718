/**
 * Which call is next: shares by time, pauses of modules that do not end, bounds; time is a
 * number.
 */

import assert from "node:assert/strict";
import {
  type Ending,
  type FairQueue,
  fairQueue,
  type Waiting,
} from "../../src/runners/fair_queue.ts";
import { LONG_MS, pauseAfter } from "../../src/runners/tenant_share.ts";

const LIMITS = { runners: 3, waitingPerTenantMax: 10, waitMsMax: 2_000, groupMax: 4 };

function waiting(tenant: string, lane = "module", job = 0, sinceMs = 0): Waiting<number> {
  return { tenant, lane, job, sinceMs, isShort: false };
}

function take(queue: FairQueue<number>, nowMs: number): Waiting<number> | undefined {
  const [next, ...others] = queue.take(nowMs);
  assert.equal(others.length, 0);
  return next;
}

interface RunEnd {
  readonly usedMs: number;
  readonly timedOut: boolean;
  readonly nowMs: number;
}

function finish(
  queue: FairQueue<number>,
  done: Waiting<number>,
  { usedMs, timedOut, nowMs }: RunEnd,
): void {
  const ending = timedOut ? "timed_out" : "in_time";
  queue.finish([{ waiting: done, usedMs, ending }], nowMs);
}

Deno.test("a queue gives each of two tenants half of the time, however long their calls take", () => {
  const queue = fairQueue<number>({ ...LIMITS, runners: 1 });
  const usedMs: Record<string, number> = { long: 0, short: 0 };
  const costMs: Record<string, number> = { long: 100, short: 1 };
  // Each tenant always has one call waiting.
  for (const tenant of ["long", "short"]) queue.push(waiting(tenant), false);
  for (let nowMs = 0; nowMs < 10_000;) {
    const next = take(queue, nowMs)!;
    const { tenant } = next;
    nowMs += costMs[tenant]!;
    usedMs[tenant]! += costMs[tenant]!;
    finish(queue, next, { usedMs: costMs[tenant]!, timedOut: false, nowMs });
    queue.push(waiting(tenant, "module", 0, nowMs), false);
  }
  // One call, plus the head start of the quick tenant.
  assert(Math.abs(usedMs.long! - usedMs.short!) <= 300, JSON.stringify(usedMs));
});

Deno.test("a queue saves nothing up for a tenant that was away", () => {
  const queue = fairQueue<number>({ ...LIMITS, runners: 1 });
  function run(tenant: string, ms: number): void {
    queue.push(waiting(tenant), false);
    const next = take(queue, 0)!;
    assert.equal(next.tenant, tenant);
    finish(queue, next, { usedMs: ms, timedOut: false, nowMs: 0 });
  }
  run("away", 1);
  for (let turn = 0; turn < 100; turn++) run("busy", 100);
  // Both arrive at once: they alternate, though one has used 10 seconds and the other nothing.
  const order: string[] = [];
  for (const tenant of ["busy", "away", "busy", "away", "busy", "away"]) {
    queue.push(waiting(tenant), false);
  }
  for (let turn = 0; turn < 6; turn++) {
    const next = take(queue, 0)!;
    order.push(next.tenant);
    finish(queue, next, { usedMs: 100, timedOut: false, nowMs: 0 });
  }
  assert.deepEqual(order.slice(0, 5), ["away", "busy", "away", "busy", "away"]);
});

Deno.test("a queue never gives one tenant the last runner, unless there is one only", () => {
  for (const [runners, expected] of [[1, 1], [2, 1], [3, 2], [8, 7]] as const) {
    const queue = fairQueue<number>({ ...LIMITS, runners });
    for (let job = 0; job < 10; job++) queue.push(waiting("greedy", "module", job), false);
    const running: number[] = [];
    for (let next = take(queue, 0); next !== undefined; next = take(queue, 0)) {
      running.push(next.job);
    }
    assert.deepEqual(running, Array.from({ length: expected }, (_, job) => job));
    queue.push(waiting("other"), false);
    assert.equal(take(queue, 0)?.tenant, "other");
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
  finish(queue, take(queue, 0)!, { usedMs: 100, timedOut: true, nowMs: 100 });
  assert.equal(take(queue, 100), undefined);
  assert.equal(queue.nextChangeMs(100), 200);
  queue.push(waiting("tenant", "fine", 7, 100), false);
  const fine = take(queue, 150)!;
  assert.equal(fine.job, 7);
  // One at a time, while a module of the tenant is suspect.
  assert.equal(take(queue, 200), undefined);
  finish(queue, fine, { usedMs: 1, timedOut: false, nowMs: 200 });
  const again = take(queue, 200)!;
  assert.deepEqual([again.lane, again.job], ["loops", 1]);
  finish(queue, again, { usedMs: 1, timedOut: false, nowMs: 201 });
  // It has ended in time, so nothing is held against it.
  for (let job = 0; job < 3; job++) queue.push(waiting("tenant", "loops", job, 201), false);
  assert.deepEqual([take(queue, 201)?.job, take(queue, 201)?.job, take(queue, 201)], [
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
    const next = take(queue, nowMs);
    if (next === undefined) nowMs += 10;
    else {
      nowMs += 100;
      usedMs += 100;
      finish(queue, next, { usedMs: 100, timedOut: true, nowMs });
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
  finish(queue, take(queue, 0)!, { usedMs: 5_000, timedOut: true, nowMs: 500 });
  // Not later; earlier does no harm.
  assert(queue.nextChangeMs(500)! <= 2_500);
  assert.deepEqual(queue.expire(2_499), []);
  assert.deepEqual(queue.expire(2_500), [
    { job: 2, timeoutsInARow: 1, leftMs: 3_000 },
    { job: 4, timeoutsInARow: 0, leftMs: 0 },
  ]);
  assert.equal(queue.waiting(), 1);
  assert.deepEqual(queue.drain(), [3]);
  assert.equal(queue.nextChangeMs(500), undefined);
});

Deno.test("a queue that tells pauses lets go what waits when a lane is paused again, not the first time", () => {
  const queue = fairQueue<number>({ ...LIMITS, tellsPauses: true });
  for (let job = 0; job < 3; job++) queue.push(waiting("a", "loops", job), false);
  queue.push(waiting("a", "fine", 3), false);
  const first = take(queue, 0)!;
  finish(queue, first, { usedMs: 100, timedOut: true, nowMs: 100 });
  assert.deepEqual(queue.pauseOf("a", "loops", 100), { timeoutsInARow: 1, leftMs: 100 });
  assert.equal(queue.pauseOf("a", "fine", 100), undefined);
  assert.equal(queue.pauseOf("b", "loops", 100), undefined);
  assert.deepEqual(queue.expire(100), [], "the input may have been the reason");
  finish(queue, take(queue, 150)!, { usedMs: 1, timedOut: false, nowMs: 151 });
  assert.equal(queue.pauseOf("a", "loops", 200), undefined, "the pause is over");
  finish(queue, take(queue, 200)!, { usedMs: 100, timedOut: true, nowMs: 300 });
  assert.deepEqual(queue.expire(300), [{ job: 2, timeoutsInARow: 2, leftMs: 300 }]);
  assert.equal(queue.waiting(), 0);
});

Deno.test("a queue runs another lane beside one that is tried again, and no third one", () => {
  const queue = fairQueue<number>(LIMITS);
  queue.push(waiting("a", "loops", 1), false);
  finish(queue, take(queue, 0)!, { usedMs: 100, timedOut: true, nowMs: 100 });
  queue.push(waiting("a", "loops", 2), false);
  queue.push(waiting("a", "loops", 3), false);
  assert.equal(take(queue, 200)?.job, 2, "the trial");
  assert.equal(take(queue, 200), undefined, "one trial at a time");
  queue.push(waiting("a", "fine", 4), false);
  queue.push(waiting("a", "good", 5), false);
  assert.equal(take(queue, 201)?.job, 4);
  assert.equal(take(queue, 201), undefined);
});

Deno.test("a queue pauses the lane that is to blame, not the one that the call began in", () => {
  const queue = fairQueue<number>(LIMITS);
  queue.push(waiting("a", "begins", 1), false);
  queue.push(waiting("a", "begins", 2), false);
  const call = take(queue, 0)!;
  const ending = "timed_out";
  queue.finish([{ waiting: call, usedMs: 100, ending, blamed: "loops" }], 100);
  assert.equal(queue.pauseOf("a", "begins", 100), undefined);
  assert.deepEqual(queue.pauseOf("a", "loops", 100), { timeoutsInARow: 1, leftMs: 100 });
  assert.equal(take(queue, 100)?.job, 2);
});

Deno.test("a queue gives a runner several short calls of one tenant at once, shared among runners", () => {
  const queue = fairQueue<number>({ ...LIMITS, waitingPerTenantMax: 100 });
  const short = (tenant: string, job: number) => ({ ...waiting(tenant, "m", job), isShort: true });
  for (let job = 0; job < 7; job++) queue.push(short("a", job), false);
  queue.push(short("b", 7), false);
  const groups = [queue.take(0), queue.take(0), queue.take(0)];
  // Seven for three runners become three, then two; the last runner is kept for another tenant.
  const jobs = groups.map((group) => group.map(({ job }) => job));
  assert.deepEqual(jobs, [[0, 1, 2], [7], [3, 4]]);
  for (let job = 8; job < 40; job++) queue.push(short("c", job), false);
  assert.equal(queue.take(0).length, 4);
});

Deno.test("a queue gives a runner one call alone that is long, or whose module did not end in time", () => {
  const queue = fairQueue<number>(LIMITS);
  const short = (job: number) => ({ ...waiting("a", "m", job), isShort: true });
  for (let job = 0; job < 6; job++) {
    queue.push(job === 1 ? waiting("a", "m", 1) : short(job), false);
  }
  const group = queue.take(0);
  assert.deepEqual(group.map(({ job }) => job), [0]);
  queue.finish(group.map((each) => ({ waiting: each, usedMs: 1, ending: "in_time" as const })), 0);
  assert.deepEqual(queue.take(0).map(({ job }) => job), [1]);
  const pair = queue.take(0);
  assert.deepEqual(pair.map(({ job }) => job), [2, 3]);
  // The first call loops, so the second is not tried: nothing speaks for the module.
  const endings = ["timed_out", "untried"] as const;
  queue.finish(pair.map((each, at) => ({ waiting: each, usedMs: 100, ending: endings[at]! })), 100);
  assert.deepEqual(queue.take(199), []);
  queue.finish([{ waiting: waiting("a", "m", 1), usedMs: 1, ending: "untried" }], 150);
  assert.deepEqual(queue.take(200).map(({ job }) => job), [4]);
});

Deno.test("a queue forgets a pause when a call that ran beside the stopped one ends in time", () => {
  const queue = fairQueue<number>(LIMITS);
  for (let job = 0; job < 3; job++) queue.push(waiting("a", "m", job), false);
  const [stopped, fine] = [take(queue, 0)!, take(queue, 0)!];
  finish(queue, stopped, { usedMs: 100, timedOut: true, nowMs: 100 });
  finish(queue, fine, { usedMs: 110, timedOut: false, nowMs: 110 });
  assert.equal(take(queue, 110)?.job, 2);
});

interface Asked {
  readonly kind: "endless" | "quick";
}

/** The wait of one call of the observed tenant. */
interface Waited {
  readonly atMs: number;
  readonly waitedMs: number;
}

const TIMEOUT_MS = 5_000;
const QUICK_MS = 5;
const RESTART_MS = 80;

/**
 * A minute of `runners` in simulated time. Each hostile tenant always has calls waiting that
 * never end, each under another name; a good tenant asks for something quick every 100 ms.
 * Returns how long the good one waited each time.
 */
function siege(runners: number, hostile: number): { waits: Waited[]; turnedAway: number } {
  const queue = fairQueue<Asked>({ ...LIMITS, runners, waitingPerTenantMax: 64 });
  const running: { first: Waiting<Asked>; begunMs: number; endsMs: number; ending: Ending }[] = [];
  const waits: Waited[] = [];
  let turnedAway = 0;
  let lane = 0;
  for (let nowMs = 0; nowMs < 60_000; nowMs++) {
    if (nowMs % 100 === 0) {
      for (let tenant = 0; tenant < hostile; tenant++) {
        const call = { tenant: `hostile ${tenant}`, lane: String(lane++), sinceMs: nowMs };
        queue.push({ ...call, job: { kind: "endless" }, isShort: false }, false);
      }
      const call = { tenant: "good", lane: "good", sinceMs: nowMs, isShort: false };
      queue.push({ ...call, job: { kind: "quick" } }, false);
    }
    for (const done of running.filter(({ endsMs }) => endsMs <= nowMs)) {
      running.splice(running.indexOf(done), 1);
      const usedMs = nowMs - done.begunMs;
      queue.finish([{ waiting: done.first, usedMs, ending: done.ending }], nowMs);
    }
    while (running.length < runners) {
      const [first] = queue.take(nowMs);
      if (first === undefined) break;
      queue.begin([first], nowMs);
      const isQuick = first.job.kind === "quick";
      if (isQuick) waits.push({ atMs: nowMs, waitedMs: nowMs - first.sinceMs });
      const endsMs = nowMs + (isQuick ? QUICK_MS : TIMEOUT_MS);
      running.push({ first, begunMs: nowMs, endsMs, ending: isQuick ? "in_time" : "timed_out" });
    }
    const [displaced] = queue.displace(nowMs) ?? [];
    const run = running.find(({ first }) => first === displaced);
    // Its process is killed and another one started.
    if (run !== undefined) Object.assign(run, { endsMs: nowMs + RESTART_MS, ending: "displaced" });
    turnedAway += queue.expire(nowMs).filter(({ job }) => job.kind === "quick").length;
  }
  return { waits, turnedAway };
}

for (const runners of [2, 3]) {
  for (const hostile of [1, 2, 5, 20]) {
    Deno.test(`${hostile} tenants whose calls never end do not hold up another on ${runners} runners`, () => {
      const { waits, turnedAway } = siege(runners, hostile);
      assert.equal(turnedAway, 0);
      assert.equal(waits.length, 600);
      // Each hostile tenant is unknown for one call; after that the good tenant hardly waits.
      const settledMs = 1_000 + hostile * (LONG_MS + RESTART_MS);
      const later = waits.filter(({ atMs }) => atMs > settledMs).map(({ waitedMs }) => waitedMs);
      later.sort((one, other) => one - other);
      const worst = later.at(-1)!;
      assert(later[Math.floor(later.length * 0.9)]! <= QUICK_MS, `${later.slice(-40)}`);
      assert(worst <= LONG_MS + RESTART_MS + QUICK_MS, `${worst} ms`);
      const first = Math.max(...waits.map(({ waitedMs }) => waitedMs));
      assert(first < 2_000, `${first} ms at first`);
    });
  }
}

Deno.test("a call that runs long makes room only while somebody else waits who has no runner", () => {
  const queue = fairQueue<number>({ ...LIMITS, runners: 2 });
  for (const tenant of ["one", "two"]) queue.push(waiting(tenant), false);
  const [first, second] = [take(queue, 0)!, take(queue, 0)!];
  queue.begin([first], 0);
  queue.begin([second], 10);
  assert.equal(queue.displace(10 * LONG_MS), undefined);
  queue.push(waiting("one", "module", 0, 20), false);
  queue.push(waiting("three", "module", 0, 20), false);
  // Its runner began later: until this time the call may still end by itself.
  assert.equal(queue.displace(LONG_MS + 9), undefined);
  assert.equal(queue.nextChangeMs(LONG_MS + 9), LONG_MS + 10);
  assert.deepEqual(queue.displace(LONG_MS + 10), [first]);
  assert.equal(queue.displace(LONG_MS + 11), undefined, "one at a time");
  queue.finish([{ waiting: first, usedMs: LONG_MS + 10, ending: "displaced" }], LONG_MS + 20);
  assert.equal(take(queue, LONG_MS + 20)?.tenant, "three");
  // A displaced call continues when the others have ended, and not on the last free runner.
  queue.push({ ...first, sinceMs: LONG_MS + 20 }, true);
  assert.equal(take(queue, LONG_MS + 20), undefined);
});

Deno.test("a quick tenant that is always there leaves others their share of a runner", () => {
  const queue = fairQueue<number>({ ...LIMITS, runners: 1 });
  const usedMs: Record<string, number> = { quick: 0, slow: 0 };
  const costMs: Record<string, number> = { quick: 10, slow: 1_000 };
  for (const tenant of ["quick", "slow"]) queue.push(waiting(tenant), false);
  for (let nowMs = 0; nowMs < 100_000;) {
    const next = take(queue, nowMs)!;
    nowMs += costMs[next.tenant]!;
    usedMs[next.tenant]! += costMs[next.tenant]!;
    finish(queue, next, { usedMs: costMs[next.tenant]!, timedOut: false, nowMs });
    queue.push(waiting(next.tenant, "module", 0, nowMs), false);
  }
  assert(Math.abs(usedMs.quick! - usedMs.slow!) <= 1_300, JSON.stringify(usedMs));
});
