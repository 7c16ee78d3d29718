/**
 * Outbox entries are processed some at a time, environments in turn, and each is over exactly
 * once, whatever happens to it or to the others.
 */

import assert from "node:assert/strict";
import type { OutboxWork } from "../../../src/domain/reaction/outbox_entry.ts";
import { type Consequence, openWorkLine } from "../../../src/features/reactions/reaction_lines.ts";
import { workOf } from "../../support/outbox_work.ts";

function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

function worksOf(count: number, tenant = 1): OutboxWork[] {
  return Array.from({ length: count }, (_, number) => workOf(number, 1, tenant));
}

/** A line whose attempts a test ends. Attempts and entries that are over are listed. */
function lineUnderHand() {
  const attempts: { work: OutboxWork; end: (led: Consequence) => void; fail: () => void }[] = [];
  const over: OutboxWork[] = [];
  const line = openWorkLine({
    attempt: (work) =>
      new Promise((resolve, reject) => {
        attempts.push({ work, end: resolve, fail: () => reject(new Error("an outage")) });
      }),
    onOver: (work) => void over.push(work),
  });
  return { line, attempts, over };
}

Deno.test("one environment has 500 entries processed at a time, and the others still have room", async () => {
  const { line, attempts, over } = lineUnderHand();
  const done = line.doAll(worksOf(1_200));
  assert.equal(attempts.length, 500);
  void line.doAll(worksOf(10, 2));
  assert.equal(attempts.length, 510);
  for (let at = 0; at < 1_210; at++) {
    attempts[at]!.end({});
    await Promise.resolve();
    if (at % 100 === 0) await settle();
  }
  await done;
  assert.equal(over.length, 1_210);
  const numbers = attempts.filter(({ work }) => work.place.tenant === 1)
    .map(({ work }) => work.place.number);
  assert.deepEqual(numbers, worksOf(1_200).map((_, number) => number), "in their order");
});

Deno.test("all is done when everything that followed is done", async () => {
  const { line, attempts } = lineUnderHand();
  let isDone = false;
  void line.doAll([workOf(0)]).then(() => isDone = true);
  attempts[0]!.end({ works: [workOf(1), workOf(2)] });
  await settle();
  assert.equal(attempts.length, 3);
  const { promise: running, resolve: end } = Promise.withResolvers<void>();
  attempts[1]!.end({ running });
  attempts[2]!.end({});
  await settle();
  assert.equal(isDone, false, "work without a place in the line still runs");
  end();
  await settle();
  assert.equal(isDone, true);
});

Deno.test("work that goes on by itself takes no place in the line", async () => {
  const { line, attempts } = lineUnderHand();
  void line.doAll(worksOf(500));
  for (const { end } of attempts.slice()) end({ running: new Promise(() => {}) });
  await settle();
  void line.doAll(worksOf(500));
  assert.equal(attempts.length, 1_000);
});

Deno.test("after an outage nothing more of it begins, and everything of it is over", async () => {
  const { line, attempts, over } = lineUnderHand();
  const done = line.doAll(worksOf(30_000));
  const other = line.doAll(worksOf(1, 2));
  const [first, ...others] = attempts.slice();
  first!.fail();
  await settle();
  for (const { end } of others) end({});
  await assert.rejects(done, /an outage/);
  await other;
  assert.equal(attempts.length, 501);
  assert.equal(over.length, 30_001);
});

Deno.test("an outage of running work is one of all", async () => {
  const { line, attempts } = lineUnderHand();
  const done = line.doAll([workOf(0)]);
  attempts[0]!.end({ running: Promise.reject(new Error("an outage")) });
  await assert.rejects(done, /an outage/);
});

Deno.test("of nothing all is done", async () => {
  await lineUnderHand().line.doAll([]);
});
