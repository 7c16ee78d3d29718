/** How background work paces itself beside requests: who waits, how long, and who does not. */

import assert from "node:assert/strict";
import { createPace } from "../../../src/features/audit/pace.ts";

/** A host whose clock moves with the work; `doneEachTurn` counts what others do in each turn. */
function busyHost(doneEachTurn: number) {
  const log: string[] = [];
  let done = 0;
  let nowMs = 1_000;
  return {
    log,
    done: () => done,
    finish: () => void done++,
    work: (milliseconds: number) => void (nowMs += milliseconds),
    monotonicMs: () => nowMs,
    yieldTurn() {
      log.push("turn");
      done += doneEachTurn;
      return Promise.resolve();
    },
    startTimer(milliseconds: number, run: () => void) {
      log.push(`pause ${milliseconds}`);
      nowMs += milliseconds;
      run();
      return () => {};
    },
  };
}

async function logOf(doneEachTurn: number, works: readonly number[]): Promise<string[]> {
  const host = busyHost(doneEachTurn);
  const pace = createPace(host, host.done);
  for (const milliseconds of works) {
    host.work(milliseconds);
    await pace();
  }
  return host.log;
}

Deno.test("a pace gives turns to others after some milliseconds, not after each piece", async () => {
  assert.deepEqual(await logOf(0, [1, 1, 1]), []);
  assert.deepEqual(await logOf(0, [1, 1, 1, 1, 1, 3]), ["turn", "turn"]);
});

Deno.test("a pace pauses for four times its work where others are at work too, and never alone", async () => {
  assert.deepEqual(await logOf(0, [10, 10]), ["turn", "turn"]);
  assert.deepEqual(await logOf(1, [10, 2, 2]), ["turn", "pause 40", "turn", "pause 16"]);
});

Deno.test("a pace pauses for a tenth of a second after others were last seen, and no longer", async () => {
  const host = busyHost(0);
  const pace = createPace(host, host.done);
  const step = async (milliseconds: number) => {
    host.log.length = 0;
    host.work(milliseconds);
    await pace();
    return [...host.log];
  };
  assert.deepEqual(await step(10), ["turn"]);
  host.finish();
  assert.deepEqual(await step(10), ["turn", "pause 40"]);
  assert.deepEqual(await step(50), ["turn", "pause 100"]);
  assert.deepEqual(await step(10), ["turn"]);
});

Deno.test("a pace bears a process that was held up: its pause has an end", async () => {
  assert.deepEqual(await logOf(1, [3_600_000]), ["turn", "pause 100"]);
});
