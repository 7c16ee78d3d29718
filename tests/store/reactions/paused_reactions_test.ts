/** Pauses of environments, and the timers that are set aside until they end. */

import assert from "node:assert/strict";
import type { Engine, Transaction } from "../../../src/kv/engine.ts";
import {
  listPauses,
  putAside,
  putBack,
  type ReactionPause,
  readPause,
  savePause,
} from "../../../src/store/reactions/paused_reactions.ts";
import { listDueTimers, setTimer, type Timer } from "../../../src/store/timers.ts";
import { QUEUE_SHARDS } from "../../../src/domain/fairness/work_share.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const TENANT = 4;
const PAUSED: ReactionPause = { state: "paused", since: "2026-01-01T00:00:00.000Z", by: "anna" };

function write(engine: Engine, body: (tx: Transaction) => void) {
  return engine.transact((tx) => Promise.resolve(body(tx)));
}

function timersOf(count: number): Timer[] {
  return Array.from({ length: count }, (_, number) => (
    { dueMs: 100 + number, tenant: TENANT, kind: "scheduled", id: `timer ${number}` }
  ));
}

async function dueOf(engine: Engine): Promise<number> {
  const shards = Array.from({ length: QUEUE_SHARDS.timer }, (_, shard) => shard);
  const found = await engine.snapshot((tx) =>
    Promise.all(shards.map((shard) => listDueTimers(tx, shard, { nowMs: 10_000, limit: 100 })))
  );
  return found.flat().length;
}

Deno.test("a pause is kept by environment, until it is taken back", async () => {
  await withTemporaryEngine(async (engine) => {
    await write(engine, (tx) => savePause(tx, TENANT, PAUSED));
    assert.deepEqual(await engine.snapshot((tx) => readPause(tx, TENANT)), PAUSED);
    assert.equal(await engine.snapshot((tx) => readPause(tx, TENANT + 1)), undefined);
    assert.deepEqual(await engine.snapshot(listPauses), new Map([[TENANT, PAUSED]]));
    await write(engine, (tx) => savePause(tx, TENANT, undefined));
    assert.deepEqual(await engine.snapshot(listPauses), new Map());
  });
});

Deno.test("timers go aside while it is paused, and back step by step afterwards", async () => {
  await withTemporaryEngine(async (engine) => {
    const timers = timersOf(5);
    await write(engine, (tx) => {
      for (const timer of timers) setTimer(tx, timer);
      savePause(tx, TENANT, PAUSED);
    });
    await engine.transact((tx) => putAside(tx, TENANT, timers));
    assert.equal(await dueOf(engine), 0);
    assert.equal(await engine.transact((tx) => putBack(tx, TENANT, 3)), 0, "it is paused");
    await write(engine, (tx) => savePause(tx, TENANT, { ...PAUSED, state: "resuming" }));
    assert.equal(await engine.transact((tx) => putBack(tx, TENANT, 3)), 3);
    assert.equal(await dueOf(engine), 3);
    assert.equal((await engine.snapshot((tx) => readPause(tx, TENANT)))?.state, "resuming");
    assert.equal(await engine.transact((tx) => putBack(tx, TENANT, 3)), 2);
    assert.equal(await dueOf(engine), 5);
    assert.equal(await engine.snapshot((tx) => readPause(tx, TENANT)), undefined);
  });
});

Deno.test("timers stay where they are when the pause is over already", async () => {
  await withTemporaryEngine(async (engine) => {
    const timers = timersOf(2);
    await write(engine, (tx) => {
      for (const timer of timers) setTimer(tx, timer);
    });
    await engine.transact((tx) => putAside(tx, TENANT, timers));
    assert.equal(await dueOf(engine), 2);
  });
});
