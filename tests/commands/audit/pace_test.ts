/** Work beside requests: who waits, how long, and who does not. */

import assert from "node:assert/strict";
import { createPace } from "../../../src/commands/audit/pace.ts";

/** A host whose clock moves by what is done on it; others use `othersMs` of each turn. */
function busyHost(othersMs: number) {
  const log: string[] = [];
  let nowMs = 1_000;
  return {
    log,
    work: (milliseconds: number) => void (nowMs += milliseconds),
    nowMs: () => nowMs,
    yieldTurn() {
      log.push("turn");
      nowMs += othersMs;
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

async function logOf(othersMs: number, works: readonly number[]): Promise<string[]> {
  const host = busyHost(othersMs);
  const pace = createPace(host);
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

Deno.test("a pace bears clocks that are set: no long pause, and no end of turns", async () => {
  assert.deepEqual(await logOf(3, [3_600_000]), ["turn", "pause 100"]);
  assert.deepEqual(await logOf(3, [-3_600_000, 5]), ["turn", "pause 0", "turn", "pause 20"]);
});
