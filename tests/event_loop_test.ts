/** When a turn waits for a look at the network, and when it waits for idle time. */

import assert from "node:assert/strict";
import { openLoopTurns } from "../src/event_loop.ts";

/** A loop whose clock a test moves; records what was asked of it. */
function openTestLoop() {
  const asked: string[] = [];
  const ends: (() => void)[] = [];
  const loop = {
    now: 0,
    nowMs: () => loop.now,
    next() {
      asked.push("next");
      return Promise.resolve();
    },
    elsewhere() {
      asked.push("elsewhere");
      return new Promise<void>((resolve) => ends.push(resolve));
    },
    soon(run: () => void) {
      asked.push("soon");
      ends.push(run);
    },
  };
  /** Resolves the oldest open request. */
  async function come(): Promise<void> {
    ends.shift()!();
    for (let times = 0; times < 5; times++) await Promise.resolve();
  }
  return { loop, asked, come, turns: openLoopTurns(loop) };
}

Deno.test("turns follow each other without a look for eight milliseconds", () => {
  const { loop, asked, turns } = openTestLoop();
  for (loop.now = 0; loop.now <= 8; loop.now++) void turns.yieldBriefly();
  assert.deepEqual(asked, Array(9).fill("next"));
});

Deno.test("after that, all who would go on wait until another thread has done something twice", async () => {
  const { loop, asked, come, turns } = openTestLoop();
  loop.now = 8.1;
  let gone = 0;
  for (let times = 0; times < 3; times++) void turns.yieldBriefly().then(() => gone++);
  await come();
  assert.equal(gone, 0);
  void turns.yieldBriefly().then(() => gone++);
  await come();
  assert.equal(gone, 4);
  void turns.yieldBriefly();
  assert.deepEqual(asked, ["elsewhere", "elsewhere", "next"]);
});

Deno.test("the first request after a while counts as a poll, and asks for a timer", () => {
  const { loop, asked, turns } = openTestLoop();
  loop.now = 7;
  assert.equal(turns.admit(), undefined);
  loop.now = 15;
  void turns.yieldBriefly();
  loop.now = 15.1;
  void turns.yieldBriefly();
  assert.deepEqual(asked, ["soon", "next", "elsewhere"]);
});

Deno.test("requests are answered at once while timers fire in time, however many come", async () => {
  const { loop, asked, come, turns } = openTestLoop();
  for (let times = 0; times < 100; times++) {
    loop.now += 1;
    assert.equal(turns.admit(), undefined);
    if (times % 2 === 1) await come();
  }
  assert.deepEqual(asked, Array(50).fill("soon"));
});

Deno.test("requests wait for a poll where a timer does not fire: they keep the loop busy", async () => {
  const { loop, asked, come, turns } = openTestLoop();
  assert.equal(turns.admit(), undefined);
  loop.now = 8;
  assert.equal(turns.admit(), undefined);
  loop.now = 8.1;
  let admitted = 0;
  for (let times = 0; times < 3; times++) void turns.admit()!.then(() => admitted++);
  await come();
  await come();
  assert.equal(admitted, 0, "the timer came first, then one of two polls");
  await come();
  assert.equal(admitted, 3);
  assert.equal(turns.admit(), undefined);
  assert.deepEqual(asked, ["soon", "elsewhere", "elsewhere", "soon"]);
});

Deno.test("who waits for rest goes on with a timer that rings on time", async () => {
  const { loop, asked, come, turns } = openTestLoop();
  let gone = 0;
  for (let times = 0; times < 2; times++) void turns.yieldTurn().then(() => gone++);
  loop.now = 20;
  await come();
  assert.equal(gone, 0, "it rang late: others are busy");
  loop.now = 22;
  await come();
  assert.equal(gone, 2);
  assert.deepEqual(asked, ["soon", "soon"]);
});

Deno.test("who waits for rest goes on after four timers that ring late", async () => {
  const { loop, come, turns } = openTestLoop();
  let gone = 0;
  void turns.yieldTurn().then(() => gone++);
  for (let times = 1; times <= 4; times++) {
    assert.equal(gone, 0);
    loop.now += 20;
    await come();
  }
  assert.equal(gone, 1);
});
