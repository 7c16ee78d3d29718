/** Work on versions of projections: repeated walks, and attempts that wait. */

import assert from "node:assert/strict";
import type { ProjectionPlace } from "../../../src/domain/projection/ready_projection.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import {
  addMissed,
  addRefresh,
  addRetry,
  clearRetry,
  countRetries,
  hasRefresh,
  listRefreshes,
  listRetries,
  moveRefresh,
  readMissed,
} from "../../../src/store/projections/projection_work.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const PLACE: ProjectionPlace = { tenant: 3, number: 2, version: 5 };
const STREAM = streamKey("settings", "main");

Deno.test("readMissed() counts what a version has missed, and no other one", async () => {
  await withTemporaryEngine(async (engine) => {
    assert.equal(await engine.snapshot((tx) => readMissed(tx, PLACE)), 0);
    for (const commits of [1, 4_000]) {
      await engine.transact((tx) => Promise.resolve(addMissed(tx, PLACE, commits)));
    }
    assert.equal(await engine.snapshot((tx) => readMissed(tx, PLACE)), 4_001);
    assert.equal(await engine.snapshot((tx) => readMissed(tx, { ...PLACE, version: 6 })), 0);
  });
});

async function walk(engine: Engine, after: string | undefined): Promise<boolean> {
  return await engine.transact(async (tx) => {
    const [work] = await listRefreshes(tx, PLACE, 1);
    return work !== undefined && await moveRefresh(tx, PLACE, work, after);
  });
}

function add(engine: Engine): Promise<void> {
  return engine.transact((tx) => addRefresh(tx, PLACE, STREAM));
}

function isWaiting(engine: Engine): Promise<boolean> {
  return engine.snapshot((tx) => hasRefresh(tx, PLACE));
}

Deno.test("a walk over rows ends, whatever is asked for while it has not begun", async () => {
  await withTemporaryEngine(async (engine) => {
    assert.equal(await isWaiting(engine), false);
    await add(engine);
    await add(engine);
    assert.equal(await walk(engine, "m"), true);
    assert.equal(await isWaiting(engine), true);
    assert.equal(await walk(engine, undefined), true);
    assert.equal(await isWaiting(engine), false);
  });
});

Deno.test("a change while a walk is under way lets it go on, and has another one follow", async () => {
  await withTemporaryEngine(async (engine) => {
    await add(engine);
    await walk(engine, "m");
    await add(engine);
    await add(engine);
    const [work] = await engine.snapshot((tx) => listRefreshes(tx, PLACE, 9));
    assert.deepEqual(work, { stream: STREAM, after: "m", isAgain: true });
    await walk(engine, undefined);
    const [next] = await engine.snapshot((tx) => listRefreshes(tx, PLACE, 9));
    assert.deepEqual(next, { stream: STREAM, isAgain: false }, "from the first row on");
    await walk(engine, undefined);
    assert.equal(await isWaiting(engine), false);
  });
});

Deno.test("of two that walk at once, one moves on", async () => {
  await withTemporaryEngine(async (engine) => {
    await add(engine);
    const [work] = await engine.snapshot((tx) => listRefreshes(tx, PLACE, 1));
    const move = () => engine.transact((tx) => moveRefresh(tx, PLACE, work!, "m"));
    assert.deepEqual([await move(), await move()], [true, false]);
  });
});

Deno.test("tries wait in the order of their time", async () => {
  await withTemporaryEngine(async (engine) => {
    await engine.transact((tx) => {
      for (const [dueMs, row] of [[300, "a"], [100, "c"], [200, "b"]] as const) {
        addRetry(tx, PLACE, { dueMs, row }, `${row} failed`);
      }
      return Promise.resolve();
    });
    const rows = async () => {
      const waiting = await engine.snapshot((tx) => listRetries(tx, PLACE, 9));
      return waiting.map(({ row }) => row);
    };
    assert.deepEqual(await rows(), ["c", "b", "a"]);
    await engine.transact((tx) => Promise.resolve(clearRetry(tx, PLACE, { dueMs: 200, row: "b" })));
    assert.deepEqual(await rows(), ["c", "a"]);
    const counted = await engine.snapshot((tx) => countRetries(tx, PLACE, 9));
    assert.deepEqual(counted, { count: 2, message: "c failed" });
    assert.equal((await engine.snapshot((tx) => countRetries(tx, PLACE, 1))).count, 1);
  });
});
