/** Who held the thread, and for how long. */

import assert from "node:assert/strict";
import { newHistogram } from "../../../src/domain/measures/counters.ts";
import {
  beginWork,
  endWork,
  type Hold,
  look,
  newThreadWatch,
  type ThreadWatch,
  type Work,
} from "../../../src/domain/fairness/thread_watch.ts";

const SHOP = { instanceId: "shop", environment: "test", number: 1 } as const;

function newWatch(): ThreadWatch {
  return newThreadWatch(newHistogram([0.005, 0.05, 0.1, 0.25, 1]), 0);
}

function begin(watch: ThreadWatch, sinceMs: number, what: Partial<Work>): Work {
  const work = { at: 0, sinceMs, ...what };
  beginWork(watch, work);
  return work;
}

function names(hold: Hold | undefined): unknown[] {
  return hold!.suspects.map(({ route, worker }) => route ?? worker);
}

Deno.test("a look that comes in time is counted as no delay and told to nobody", () => {
  const watch = newWatch();
  begin(watch, 0, { worker: "outbox" });
  assert.equal(look(watch, 20), undefined);
  assert.equal(look(watch, 41), undefined);
  assert.deepEqual(watch.delaySeconds.counts, [2, 0, 0, 0, 0, 0]);
});

Deno.test("while the thread is held each look that is due counts, as late as it comes", () => {
  const watch = newWatch();
  // Due at 20, 40, 60, 80 and 100 ms, all come at 105 ms: 85, 65, 45, 25 and 5 ms late.
  look(watch, 105);
  assert.deepEqual(watch.delaySeconds.counts, [1, 2, 2, 0, 0, 0]);
  assert.ok(Math.abs(watch.delaySeconds.sum - 0.225) < 1e-9);
});

Deno.test("a clock that does not move, and one that leaps for a year, cost little", () => {
  const watch = newWatch();
  look(watch, 0);
  look(watch, 365 * 24 * 3_600_000);
  const total = watch.delaySeconds.counts.reduce((sum, count) => sum + count);
  assert.ok(total <= 1_002, `${total} values`);
});

Deno.test("a hold of more than 100 ms is told with the route and the instance under way", () => {
  const watch = newWatch();
  const work = begin(watch, 15, { route: "/{type}/{id}", method: "GET" });
  work.owner = { tenant: SHOP };
  assert.deepEqual(look(watch, 315), {
    heldMs: 315,
    underWay: 1,
    suspects: [
      { route: "GET /{type}/{id}", instance: "shop", environment: "test", since_ms: 300 },
    ],
  });
});

Deno.test("a hold of 100 ms, and a second one within a second, are counted but not told", () => {
  const watch = newWatch();
  begin(watch, 0, { worker: "outbox" });
  assert.equal(look(watch, 100), undefined);
  assert.notEqual(look(watch, 201), undefined);
  assert.equal(look(watch, 1_200), undefined);
  assert.notEqual(look(watch, 1_400), undefined);
});

Deno.test("a request that was answered before the look is told first, if it took long", () => {
  const watch = newWatch();
  begin(watch, 8, { worker: "views" });
  const held = begin(watch, 5, { route: "/_sql", method: "POST" });
  const quick = begin(watch, 290, { route: "/_quick", method: "GET" });
  endWork(watch, held, 290);
  endWork(watch, quick, 299);
  const hold = look(watch, 300);
  assert.deepEqual(names(hold), ["POST /_sql", "views"]);
  assert.equal(hold!.underWay, 2);
  // Somebody else causes the next hold.
  assert.deepEqual(names(look(watch, 2_000)), ["views"]);
});

Deno.test("what began last before the hold comes first, and what waited for its end does not", () => {
  const watch = newWatch();
  begin(watch, -5_000, { worker: "deliveries" });
  begin(watch, 10, { route: "/_last", method: "POST" });
  begin(watch, -50, { route: "/_first", method: "POST" });
  begin(watch, 498, { route: "/_waited", method: "POST" });
  assert.deepEqual(names(look(watch, 500)), ["POST /_last", "POST /_first", "deliveries"]);
});

Deno.test("at most five are named, however many there are", () => {
  const watch = newWatch();
  for (let at = 0; at < 100; at++) begin(watch, -at, { worker: `worker ${at}` });
  const hold = look(watch, 200);
  assert.equal(hold!.underWay, 100);
  assert.deepEqual(names(hold), [0, 1, 2, 3, 4].map((at) => `worker ${at}`));
});

Deno.test("what has ended is under way no more, in whatever order it ends", () => {
  const watch = newWatch();
  const works = [0, 1, 2, 3].map((at) => begin(watch, at, { worker: String(at) }));
  for (const at of [1, 3, 0]) endWork(watch, works[at]!, 10);
  assert.deepEqual(watch.underWay, [works[2]]);
  endWork(watch, works[2]!, 10);
  assert.deepEqual(watch.underWay, []);
});
