/** The mark of an import under way, and what it has imported. */

import assert from "node:assert/strict";
import { keys } from "../../src/store/keys.ts";
import {
  clearTransferMark,
  clearTransferred,
  hasTransferredEntry,
  keepTransferredEntry,
  keepTransferredTimer,
  markTransferredWork,
  moveTransferredWork,
  nextTransferredWork,
  readTransferMark,
  setTransferMark,
} from "../../src/store/transfers.ts";
import { withTemporaryEngine } from "../support/temporary_engine.ts";
import type { EmitEntry, OutboxPlace } from "../../src/domain/reaction/outbox_entry.ts";
import { streamKey } from "../../src/domain/identifier.ts";
import { QUEUE_SHARDS } from "../../src/domain/fairness/work_share.ts";
import type { Engine } from "../../src/kv/engine.ts";
import { listTenantOutbox } from "../../src/store/reactions/tenant_outbox.ts";
import { listDueTimers, type Timer } from "../../src/store/timers.ts";

const place = { slug: "shop", environment: "test" } as const;

Deno.test("readTransferMark() gives the number until the mark is cleared, for its place alone", async () => {
  await withTemporaryEngine(async (engine) => {
    const read = (environment: "test" | "staging") =>
      engine.snapshot((tx) => readTransferMark(tx, { ...place, environment }));
    assert.equal(await read("test"), undefined);
    await engine.transact((tx) => Promise.resolve(setTransferMark(tx, place, 300)));
    assert.deepEqual([await read("test"), await read("staging")], [300, undefined]);
    await engine.transact((tx) => Promise.resolve(clearTransferMark(tx, place)));
    assert.equal(await read("test"), undefined);
  });
});

Deno.test("clearTransferred() removes all of one tenant and nothing of its neighbours", async () => {
  await withTemporaryEngine(async (engine) => {
    const numbers = [1, 2, 255, 256, 257, 65_535, 65_536];
    for (const gone of numbers) {
      await engine.transact((tx) => {
        for (const number of numbers) tx.set(keys.currentSpec(number), new Uint8Array(1));
        return Promise.resolve(clearTransferred(tx, gone));
      });
      const left = await engine.snapshot((tx) =>
        Promise.all(numbers.map((number) => tx.get(keys.currentSpec(number))))
      );
      assert.deepEqual(numbers.filter((_, at) => left[at] === undefined), [gone]);
    }
  });
});

/**
 * Work that an import holds back: moved to the queues in bounded steps, entries before timers.
 */
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
    for (const timer of TIMERS) keepTransferredTimer(tx, timer);
    for (const [index, text] of texts.entries()) {
      keepTransferredEntry(tx, placeOf(index), waiting(text));
    }
    markTransferredWork(tx, TENANT);
    return Promise.resolve();
  });
}

/** Texts of the entries, and timers, that are in the queues. */
async function queued(engine: Engine) {
  const shards = Array.from({ length: QUEUE_SHARDS.timer }, (_, shard) => shard);
  return await engine.snapshot(async (tx) => {
    const works = [];
    for (let isLast = false; !isLast;) {
      const page = await listTenantOutbox(tx, TENANT, { after: works.at(-1)?.place, limit: 100 });
      works.push(...page.works);
      ({ isLast } = page);
    }
    const timers = await Promise.all(
      shards.map((shard) => listDueTimers(tx, shard, { nowMs: 1_000, limit: 100 })),
    );
    const texts = works.map(({ entry }) => (entry as EmitEntry).emission.data.text as string);
    return { texts, works, timers: timers.flat().sort((a, b) => a.dueMs - b.dueMs) };
  });
}

Deno.test("moveTransferredWork() moves entries first, then timers, so many at a time, and then the mark goes", async () => {
  await withTemporaryEngine(async (engine) => {
    await keepAll(engine, ["a", "b", "c"]);
    assert.deepEqual(await queued(engine), { texts: [], works: [], timers: [] });
    const seen: number[][] = [];
    for (let steps = 0; await engine.snapshot(nextTransferredWork) !== undefined; steps++) {
      assert.ok(steps < 10);
      const moved = await engine.transact((tx) => moveTransferredWork(tx, TENANT, 2));
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

Deno.test("moveTransferredWork() moves about a megabyte at a time, and an entry in pieces whole", async () => {
  await withTemporaryEngine(async (engine) => {
    const large = "x".repeat(700_000);
    await keepAll(engine, [large, large, large]);
    const moved: number[] = [];
    for (let steps = 0; await engine.snapshot(nextTransferredWork) !== undefined; steps++) {
      assert.ok(steps < 10);
      moved.push(await engine.transact((tx) => moveTransferredWork(tx, TENANT, 100)));
    }
    assert.deepEqual(moved, [2, 3]);
    assert.deepEqual((await queued(engine)).texts, [large, large, large]);
  });
});

Deno.test("a mark without work goes at once, and without a mark there is nothing to move", async () => {
  await withTemporaryEngine(async (engine) => {
    assert.equal(await engine.snapshot(nextTransferredWork), undefined);
    await engine.transact((tx) => Promise.resolve(markTransferredWork(tx, TENANT)));
    assert.equal(await engine.snapshot(nextTransferredWork), TENANT);
    assert.equal(await engine.transact((tx) => moveTransferredWork(tx, TENANT, 10)), 0);
    assert.equal(await engine.snapshot(nextTransferredWork), undefined);
  });
});

Deno.test("hasTransferredEntry() knows what was kept", async () => {
  await withTemporaryEngine(async (engine) => {
    await keepAll(engine, ["a"]);
    const found = await engine.snapshot((tx) =>
      Promise.all([0, 1].map((index) => hasTransferredEntry(tx, placeOf(index))))
    );
    assert.deepEqual(found, [true, false]);
  });
});
