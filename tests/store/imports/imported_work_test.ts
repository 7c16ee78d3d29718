/**
 * Work that an import holds back: moved to the queues in bounded steps, entries before timers.
 */

import assert from "node:assert/strict";
import type { EmitEntry, OutboxPlace } from "../../../src/domain/reaction/outbox_entry.ts";
import { streamKey } from "../../../src/domain/stream_key.ts";
import { QUEUE_SHARDS } from "../../../src/domain/fairness/work_share.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import {
  hasImportedEntry,
  keepImportedEntry,
  keepImportedTimer,
  markImportedWork,
  moveImportedWork,
  nextImportedWork,
} from "../../../src/store/imports/imported_work.ts";
import { keys } from "../../../src/store/keys.ts";
import { listTenantOutbox } from "../../../src/store/reactions/tenant_outbox.ts";
import { listDueTimers, type Timer } from "../../../src/store/timers.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const TENANT = 7;

function placeOf(index: number): OutboxPlace {
  return { tenant: TENANT, stream: streamKey("order", "global"), index, number: 0 };
}

function waiting(text: string) {
  const key = streamKey("ledger", "global");
  const emission = { key, aggregateType: "ledger", id: "global", eventType: "t", data: { text } };
  const actor = { type: "user", id: "global" };
  const entry: EmitEntry = {
    kind: "emit",
    emission,
    actor,
    eventType: "t",
    depth: 1,
    requestId: "r",
  };
  return { entry, sinceMs: 5, waitMs: 6, tries: 1 };
}

const TIMERS: readonly Timer[] = [
  { dueMs: 10, tenant: TENANT, kind: "saga", id: "a" },
  { dueMs: 20, tenant: TENANT, kind: "scheduled", id: "a" },
];

async function keepAll(engine: Engine, texts: readonly string[]): Promise<void> {
  await engine.transact((tx) => {
    for (const timer of TIMERS) keepImportedTimer(tx, timer);
    for (const [index, text] of texts.entries()) {
      keepImportedEntry(tx, placeOf(index), waiting(text));
    }
    markImportedWork(tx, TENANT);
    return Promise.resolve();
  });
}

/** Texts of the entries, and timers, that are in the queues. */
async function queued(engine: Engine) {
  const shards = Array.from({ length: QUEUE_SHARDS.timer }, (_, shard) => shard);
  return await engine.snapshot(async (tx) => {
    const works = [];
    for (let isLast = false; !isLast;) {
      const page = await listTenantOutbox(tx, TENANT, works.at(-1)?.place, 100);
      works.push(...page.works);
      ({ isLast } = page);
    }
    const timers = await Promise.all(shards.map((shard) => listDueTimers(tx, shard, 1_000, 100)));
    const texts = works.map(({ entry }) => (entry as EmitEntry).emission.data.text as string);
    return { texts, works, timers: timers.flat().sort((a, b) => a.dueMs - b.dueMs) };
  });
}

Deno.test("moveImportedWork() moves entries first, then timers, so many at a time, and then the mark goes", async () => {
  await withTemporaryEngine(async (engine) => {
    await keepAll(engine, ["a", "b", "c"]);
    assert.deepEqual(await queued(engine), { texts: [], works: [], timers: [] });
    const seen: number[][] = [];
    for (let steps = 0; await engine.snapshot(nextImportedWork) !== undefined; steps++) {
      assert.ok(steps < 10);
      const moved = await engine.transact((tx) => moveImportedWork(tx, TENANT, 2));
      const { texts, timers } = await queued(engine);
      seen.push([moved, texts.length, timers.length]);
    }
    assert.deepEqual(seen, [[2, 2, 0], [2, 3, 1], [1, 3, 2]]);
    const { works, timers } = await queued(engine);
    const { place, bytes: _, ...rest } = works[1]!;
    assert.deepEqual([place, rest], [placeOf(1), waiting("b")]);
    assert.deepEqual(timers, TIMERS);
    const left = await engine.snapshot((tx) => tx.getRange(keys.tenant(TENANT)));
    assert.deepEqual(left, []);
  });
});

Deno.test("moveImportedWork() moves about a megabyte at a time, and an entry in pieces whole", async () => {
  await withTemporaryEngine(async (engine) => {
    const large = "x".repeat(700_000);
    await keepAll(engine, [large, large, large]);
    const moved: number[] = [];
    for (let steps = 0; await engine.snapshot(nextImportedWork) !== undefined; steps++) {
      assert.ok(steps < 10);
      moved.push(await engine.transact((tx) => moveImportedWork(tx, TENANT, 100)));
    }
    assert.deepEqual(moved, [2, 3]);
    assert.deepEqual((await queued(engine)).texts, [large, large, large]);
  });
});

Deno.test("a mark without work goes at once, and without a mark there is nothing to move", async () => {
  await withTemporaryEngine(async (engine) => {
    assert.equal(await engine.snapshot(nextImportedWork), undefined);
    await engine.transact((tx) => Promise.resolve(markImportedWork(tx, TENANT)));
    assert.equal(await engine.snapshot(nextImportedWork), TENANT);
    assert.equal(await engine.transact((tx) => moveImportedWork(tx, TENANT, 10)), 0);
    assert.equal(await engine.snapshot(nextImportedWork), undefined);
  });
});

Deno.test("hasImportedEntry() knows what was kept", async () => {
  await withTemporaryEngine(async (engine) => {
    await keepAll(engine, ["a"]);
    const found = await engine.snapshot((tx) =>
      Promise.all([0, 1].map((index) => hasImportedEntry(tx, placeOf(index))))
    );
    assert.deepEqual(found, [true, false]);
  });
});
