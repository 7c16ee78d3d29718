/** Work beside requests: who waits, how long, and who does not. */

import assert from "node:assert/strict";
import { createPace } from "../../../src/commands/audit/pace.ts";

/** A host whose clock moves by what is done on it; others use `othersMs` of each turn. */
function busyHost(othersMs: number, doneEachTurn: number) {
  const log: string[] = [];
  let done = 0;
  let nowMs = 1_000;
  return {
    log,
    done: () => done,
    work: (milliseconds: number) => void (nowMs += milliseconds),
    monotonicMs: () => nowMs,
    yieldTurn() {
      log.push("turn");
      nowMs += othersMs;
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

async function logOf(
  othersMs: number,
  works: readonly number[],
  doneEachTurn = 0,
): Promise<string[]> {
  const host = busyHost(othersMs, doneEachTurn);
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

Deno.test("a pace pauses for four times its work where others have work too, and never alone", async () => {
  assert.deepEqual(await logOf(0, [10, 10]), ["turn", "turn"]);
  assert.deepEqual(await logOf(3, [10, 2, 2]), ["turn", "pause 40", "turn", "pause 16"]);
});

Deno.test("a pace pauses where others have been answered, though the loop was idle for them", async () => {
  const log = await logOf(0, [10, 4], 1);
  assert.deepEqual(log, ["turn", "pause 40", "turn", "pause 16"]);
});

Deno.test("a pace pauses for a second after others were last seen, and no longer", async () => {
  const host = busyHost(0, 0);
  let done = 0;
  const pace = createPace(host, () => done);
  const step = async (milliseconds: number) => {
    host.log.length = 0;
    host.work(milliseconds);
    await pace();
    return [...host.log];
  };
  assert.deepEqual(await step(10), ["turn"]);
  done++;
  assert.deepEqual(await step(10), ["turn", "pause 40"]);
  assert.deepEqual(await step(900), ["turn", "pause 100"]);
  assert.deepEqual(await step(10), ["turn"]);
});

Deno.test("a pace bears a process that was held up: its pause has an end", async () => {
  assert.deepEqual(await logOf(3, [3_600_000]), ["turn", "pause 100"]);
});
