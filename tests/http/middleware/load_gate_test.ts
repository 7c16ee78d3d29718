/**
 * `openDrain()` waits for work under way, and not for work that comes later. The gate does not
 * count requests that only wait, and tells its refusals in portions.
 */

import assert from "node:assert/strict";
import { createLoadGate, openDrain } from "../../../src/http/middleware/load_gate.ts";
import { RESERVED_EACH, RESERVED_MAX, UNDER_WAY_START } from "../../../src/domain/limits/load.ts";
import { openHeavyWrites } from "../../../src/features/writes/write_events.ts";
import type { Service } from "../../../src/features/service.ts";
import { fakeHost } from "../../support/fake_host.ts";

async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const turn = new Promise((resolve) => setTimeout(resolve, 0, "turn"));
  return await Promise.race([promise, turn]) !== "turn";
}

Deno.test("a stop with nothing under way is over at once", async () => {
  const drain = openDrain();
  assert.equal(drain.isStopping(), false);
  await drain.stop();
  assert.equal(drain.isStopping(), true);
});

Deno.test("a stop waits for everything that has come before it", async () => {
  const drain = openDrain();
  for (let count = 0; count < 3; count++) assert.equal(drain.enter(), true);
  drain.leave();
  const stopped = drain.stop();
  drain.leave();
  assert.equal(await isSettled(stopped), false);
  drain.leave();
  await stopped;
});

Deno.test("what begins after the stop does not hold it up", async () => {
  const drain = openDrain();
  drain.enter();
  const stopped = drain.stop();
  assert.equal(drain.enter(), false);
  drain.leave();
  await stopped;
});

function openGate() {
  const data = { recordError: () => "an id" } as unknown as Service["data"];
  return createLoadGate({ data }, fakeHost());
}

Deno.test("a heavy write that waits for a place leaves room at the gate for others", async () => {
  const gate = openGate();
  for (let inside = 0; inside < UNDER_WAY_START; inside++) assert.equal(gate.enter(), true);
  assert.equal(gate.enter(), false);
  const heavy = openHeavyWrites(2);
  const leave = await heavy.enter("one");
  const waiting = heavy.enter("one");
  assert.equal(gate.enter(), true);
  assert.equal(gate.enter(), false);
  leave!();
  (await waiting)!();
  assert.equal(gate.enter(), false);
});

Deno.test("a full gate has a few places for each instance, and for so many of them", () => {
  const gate = openGate();
  for (let inside = 0; inside < UNDER_WAY_START; inside++) gate.enter();
  const enterAll = (instance: string) => {
    let count = 0;
    while (gate.enterReserved(instance)) count++;
    return count;
  };
  assert.equal(enterAll("a"), RESERVED_EACH);
  gate.leave(0, 1, "a");
  assert.equal(enterAll("a"), 1);
  const others = Array.from({ length: RESERVED_MAX }, (_, n) => enterAll(`other ${n}`));
  assert.equal(others.reduce((sum, count) => sum + count), RESERVED_MAX - RESERVED_EACH);
  gate.leave(0, 1, "a");
  assert.equal(enterAll("late"), 1);
  assert.equal(gate.measure().underWay, UNDER_WAY_START + RESERVED_MAX);
  assert.equal(gate.enter(), false);
});

Deno.test("refusals that are due together are told fifty in a turn", async () => {
  const { setTimeout: realTimeout, performance } = globalThis;
  const realNow = performance.now;
  const ticks: (() => void)[] = [];
  let nowMs = 0;
  try {
    performance.now = () => nowMs;
    globalThis.setTimeout = ((tick: () => void) =>
      ticks.push(tick)) as unknown as typeof setTimeout;
    const gate = openGate();
    let told = 0;
    for (let asked = 0; asked < 120; asked++) {
      void Promise.resolve(gate.shed("a request")).then(() => told++);
    }
    nowMs = 1_000;
    const counts: number[] = [];
    while (ticks.length > 0) {
      ticks.shift()!();
      for (let round = 0; round < 5; round++) await Promise.resolve();
      counts.push(told);
    }
    assert.deepEqual(counts, [50, 100, 120]);
  } finally {
    globalThis.setTimeout = realTimeout;
    performance.now = realNow;
  }
});
