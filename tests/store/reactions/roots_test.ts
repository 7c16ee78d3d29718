/** Records of roots and hourly counters, from the first write to the sweeper. */

import assert from "node:assert/strict";
import { limits } from "../../../src/domain/limits.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import {
  countRecurring,
  createRoot,
  readRecurring,
  readRoot,
  saveRoot,
  sweepRoots,
} from "../../../src/store/reactions/roots.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const TENANT = 3;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const BEGIN_MS = Date.UTC(2026, 0, 1, 10, 20);

function write(engine: Engine, body: (tx: Parameters<typeof createRoot>[0]) => void) {
  return engine.transact((tx) => Promise.resolve(body(tx)));
}

function countOf(engine: Engine, of: string) {
  return engine.snapshot(async (tx) => (await readRoot(tx, TENANT, of))?.count);
}

Deno.test("a root's record is read as it was saved", async () => {
  await withTemporaryEngine(async (engine) => {
    assert.equal(await countOf(engine, "order:1/0"), undefined);
    const record = { count: 5, changedMs: BEGIN_MS };
    await write(engine, (tx) => createRoot(tx, TENANT, "order:1/0", record));
    await write(engine, (tx) => saveRoot(tx, TENANT, "order:1/0", { ...record, count: 7 }));
    assert.equal(await countOf(engine, "order:1/0"), 7);
    assert.equal(await countOf(engine, "order:1/1"), undefined);
  });
});

Deno.test("a record goes a day after its last change, not after its first", async () => {
  await withTemporaryEngine(async (engine) => {
    const later = BEGIN_MS + 20 * HOUR_MS;
    await write(engine, (tx) => {
      for (const name of ["order:1/0", "order:2/0"]) {
        createRoot(tx, TENANT, name, { count: 5, changedMs: BEGIN_MS });
      }
    });
    const changed = { count: 6, changedMs: later };
    await write(engine, (tx) => saveRoot(tx, TENANT, "order:2/0", changed));
    await engine.transact((tx) => sweepRoots(tx, BEGIN_MS + DAY_MS, 100));
    assert.equal(await countOf(engine, "order:1/0"), 5, "its day is not over");
    await engine.transact((tx) => sweepRoots(tx, BEGIN_MS + DAY_MS + 2 * HOUR_MS, 100));
    assert.equal(await countOf(engine, "order:1/0"), undefined);
    assert.equal(await countOf(engine, "order:2/0"), 6);
    await engine.transact((tx) => sweepRoots(tx, later + DAY_MS + 2 * HOUR_MS, 100));
    assert.equal(await countOf(engine, "order:2/0"), undefined);
    assert.equal(await engine.transact((tx) => sweepRoots(tx, later + 9 * DAY_MS, 100)), 0);
  });
});

Deno.test("each hour of recurring timers is counted by itself, and goes a day later", async () => {
  await withTemporaryEngine(async (engine) => {
    const hour = Math.floor(BEGIN_MS / HOUR_MS);
    const counted = (at: number) => engine.snapshot((tx) => readRecurring(tx, TENANT, at));
    await write(engine, (tx) => {
      countRecurring(tx, TENANT, { hour, events: 5, subject: "a" });
      countRecurring(tx, TENANT, { hour, events: 6, subject: "b" });
      countRecurring(tx, TENANT, { hour: hour + 1, events: 4, subject: "a" });
      countRecurring(tx, TENANT, { hour: hour + 3, events: 7, subject: "a" });
    });
    assert.equal(await counted(hour), 11);
    assert.equal(await counted(hour + 2), 0);
    await engine.transact((tx) => sweepRoots(tx, (hour + 25) * HOUR_MS, 100));
    assert.deepEqual(await Promise.all([0, 1, 3].map((n) => counted(hour + n))), [0, 4, 7]);
  });
});

Deno.test("records are kept for a day", () => {
  assert.equal(limits.rootRetentionSeconds, 24 * 3_600);
});
