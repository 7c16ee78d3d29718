/** Timers: found when they are due, by time, and not earlier. */

import assert from "node:assert/strict";
import { QUEUE_SHARDS } from "../../src/domain/fairness/work_share.ts";
import type { Engine } from "../../src/kv/engine.ts";
import {
  clearTimer,
  listDueTimers,
  readFirstTimer,
  setTimer,
  type Timer,
} from "../../src/store/timers.ts";
import { withTemporaryEngine } from "../support/temporary_engine.ts";

const SHARDS = Array.from({ length: QUEUE_SHARDS.timer }, (_, shard) => shard);

function timerAt(dueMs: number, id = `${dueMs}`, tenant = 1): Timer {
  return { dueMs, tenant, kind: "scheduled", id };
}

async function set(engine: Engine, timers: readonly Timer[]): Promise<void> {
  await engine.transact((tx) => {
    for (const timer of timers) setTimer(tx, timer);
    return Promise.resolve();
  });
}

async function dueAt(engine: Engine, nowMs: number, limit = 1_000): Promise<Timer[]> {
  const lists = await engine.snapshot((tx) =>
    Promise.all(SHARDS.map((shard) => listDueTimers(tx, shard, { nowMs, limit })))
  );
  return lists.flat();
}

Deno.test("listDueTimers() gives those whose time has come, to the millisecond", async () => {
  await withTemporaryEngine(async (engine) => {
    const nowMs = Date.UTC(2026, 0, 1);
    await set(engine, [-1, 0, 1].map((after) => timerAt(nowMs + after)));
    const due = (await dueAt(engine, nowMs)).map(({ dueMs }) => dueMs - nowMs);
    assert.deepEqual(due.toSorted((a, b) => a - b), [-1, 0]);
    assert.deepEqual(await dueAt(engine, 0), []);
  });
});

Deno.test("listDueTimers() gives the earliest of a shard first, whatever the size of the number", async () => {
  await withTemporaryEngine(async (engine) => {
    const times = [1, 255, 256, 65_536, 2 ** 32, 2 ** 40, 2 ** 45];
    await set(engine, times.toReversed().map((dueMs) => timerAt(dueMs, "same")));
    const due = (await dueAt(engine, 2 ** 50)).map(({ dueMs }) => dueMs);
    assert.deepEqual(due, times);
    assert.deepEqual((await dueAt(engine, 2 ** 50, 2)).map(({ dueMs }) => dueMs), [1, 255]);
  });
});

Deno.test("a timer keeps its tenant, kind and id, and is cleared by them", async () => {
  await withTemporaryEngine(async (engine) => {
    const one: Timer = { dueMs: 5, tenant: 7, kind: "saga", id: "saga_1" };
    const other: Timer = { ...one, tenant: 8 };
    await set(engine, [one, other]);
    await engine.transact((tx) => Promise.resolve(clearTimer(tx, one)));
    assert.deepEqual(await dueAt(engine, 10), [other]);
  });
});

Deno.test("readFirstTimer() tells how long a shard can sleep", async () => {
  await withTemporaryEngine(async (engine) => {
    await set(engine, [timerAt(900, "a"), timerAt(50_000, "a")]);
    const firsts = await engine.snapshot((tx) =>
      Promise.all(SHARDS.map((shard) => readFirstTimer(tx, shard)))
    );
    const found = firsts.filter((first) => first !== undefined);
    assert.deepEqual(found, [timerAt(900, "a")]);
  });
});

Deno.test("timers spread over all shards", async () => {
  await withTemporaryEngine(async (engine) => {
    await set(engine, Array.from({ length: 500 }, (_, n) => timerAt(1, `id ${n}`)));
    const lists = await engine.snapshot((tx) =>
      Promise.all(SHARDS.map((shard) => listDueTimers(tx, shard, { nowMs: 1, limit: 1_000 })))
    );
    assert.ok(lists.every((list) => list.length > 0));
    assert.equal(lists.flat().length, 500);
  });
});
