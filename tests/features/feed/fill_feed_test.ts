/**
 * The filling in of logs: a store made before there was a feed gets its history, each event once,
 * while others write and wherever the process dies.
 */

import assert from "node:assert/strict";
import type { FeedEntry } from "../../../src/domain/feed/page.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import type { Tenant } from "../../../src/domain/tenant.ts";
import { fillFeeds, prepareFeed } from "../../../src/features/feed/fill_feed.ts";
import type { Service } from "../../../src/features/service.ts";
import { checkStore } from "../../../src/features/checks/check_store.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { pack } from "../../../src/kv/tuple.ts";
import { readLogCursor, readLogSpan } from "../../../src/store/feed/log_cursor.ts";
import { keys } from "../../../src/store/keys.ts";
import { faultyEngine } from "../../support/faulty_engine.ts";
import { makeOld } from "../../support/old_store.ts";
import {
  noteWrite,
  orderWrite,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";

const ORDERS = 250;

async function fillAll(engine: Engine): Promise<void> {
  while (await fillFeeds(engine) > 0);
}

async function readWhole(service: Service, tenant: Tenant): Promise<FeedEntry[]> {
  const entries: FeedEntry[] = [];
  for (let from = "start";;) {
    const page = valueOf(await service.feed.readPage(tenant, { from, limit: 1_000 }));
    assert.equal(page.isBuilding, false);
    entries.push(...page.entries);
    if (page.isUpToDate) return entries;
    from = page.next;
  }
}

/** Each stream's events, once and in order. */
async function assertWhole(
  service: Service,
  tenant: Tenant,
  lengths: ReadonlyMap<string, number>,
): Promise<void> {
  const seen = new Map<string, number>();
  for (const { key, id } of await readWhole(service, tenant)) {
    const due = seen.get(key) ?? 0;
    assert.equal(Number(id), due, key);
    seen.set(key, due + 1);
  }
  assert.deepEqual(new Map([...seen].sort()), new Map([...lengths].sort()));
}

function events(count: number) {
  return Array.from({ length: count }, () => ({ type: "was_noted", data: { text: "x" } }));
}

async function writeOrders(
  service: Service,
  tenant: Tenant,
  count: number,
): Promise<Map<string, number>> {
  const lengths = new Map<string, number>();
  for (let n = 0; n < count; n++) {
    const length = 1 + n % 4;
    valueOf(await service.data.writeEvents(tenant, orderWrite(uuid(n), events(length))));
    lengths.set(streamKey("order", uuid(n)), length);
  }
  return lengths;
}

Deno.test("until a log is filled in, the feed is empty from its start on and says so", async () => {
  await withService(async ({ service, engine, tenants: { test, staging } }) => {
    const lengths = await writeOrders(service, test, 3);
    await makeOld(engine, test);
    assert.equal(await prepareFeed(engine), 1);
    assert.equal(await prepareFeed(engine), 0, "it is done once");
    const page = valueOf(await service.feed.readPage(test, { from: "start", limit: 10 }));
    assert.deepEqual([page.entries, page.isUpToDate, page.isBuilding], [[], false, true]);
    const other = valueOf(await service.feed.readPage(staging, { from: "start", limit: 10 }));
    assert.deepEqual([other.isUpToDate, other.isBuilding], [true, false]);
    const now = valueOf(await service.feed.readPage(test, { from: "now", limit: 10 }));
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(0), "new")));
    const live = valueOf(await service.feed.readPage(test, { from: now.next, limit: 10 }));
    assert.equal(live.entries.length, 1, "what is new is there at once");
    await fillAll(engine);
    const first = streamKey("order", uuid(0));
    await assertWhole(service, test, lengths.set(first, lengths.get(first)! + 1));
    const further = valueOf(await service.feed.readPage(test, { from: page.next, limit: 100 }));
    assert.equal(further.entries.length, 7, "the cursor that was given meanwhile is good");
  });
});

Deno.test("writes before, between and after the steps are logged once", async () => {
  await withService(async ({ service, engine, tenants: { test } }) => {
    const lengths = await writeOrders(service, test, ORDERS);
    await makeOld(engine, test);
    await prepareFeed(engine);
    const grow = async (n: number) => {
      valueOf(await service.data.writeEvents(test, noteWrite(uuid(n), "more")));
      const key = streamKey("order", uuid(n));
      lengths.set(key, (lengths.get(key) ?? 0) + 1);
    };
    // Old streams, twice; and new ones, which come before and behind the place of the filling.
    for (const n of [0, 7, 7, ORDERS - 1, ORDERS + 1]) await grow(n);
    let step = 0;
    while (await fillFeeds(engine) > 0) {
      for (const n of [step, 7, ORDERS - 2, ORDERS + 2 + step]) await grow(n);
      step++;
    }
    assert.ok(step > 1, `${step} steps`);
    await grow(3);
    await assertWhole(service, test, lengths);
    assert.deepEqual((await checkStore(engine, true)).faults, []);
    const { begin, end } = keys.logStarts(test.number);
    assert.deepEqual(await engine.snapshot((tx) => tx.getRange({ begin, end })), []);
  });
});

for (const landed of [true, false]) {
  Deno.test(`a process that dies between any two transactions is gone on for (landed: ${landed})`, async () => {
    await withService(async ({ service, engine, tenants: { test } }) => {
      const lengths = await writeOrders(service, test, ORDERS);
      for (let diesAt = 0;; diesAt++) {
        await makeOld(engine, test);
        let isDead = false;
        const dying = faultyEngine(engine, (commit) => {
          if (commit !== diesAt) return undefined;
          isDead = true;
          return { kind: "unavailable", landed };
        });
        await prepareFeed(dying).then(() => fillAll(dying)).catch(() => {});
        const grown = streamKey("order", uuid(diesAt));
        if (isDead) {
          await prepareFeed(engine);
          valueOf(await service.data.writeEvents(test, noteWrite(uuid(diesAt), "more")));
          lengths.set(grown, lengths.get(grown)! + 1);
        }
        await fillAll(engine);
        await assertWhole(service, test, lengths);
        if (!isDead) return;
      }
    });
  });
}

Deno.test("what projections of an earlier build had still to show is shown to them", async () => {
  await withService(async ({ service, engine, tenants: { test } }) => {
    await writeOrders(service, test, 20);
    await makeOld(engine, test);
    const { number } = test;
    const late = [3, 17].map((n) => streamKey("order", uuid(n)));
    await engine.transact((tx) => {
      for (const [at, stream] of late.entries()) {
        // As earlier builds had it: 16 shards; a stamp, and the stream.
        tx.setStamped(keys.shardedLog(number, 5 + at), pack([stream]), pack([0, 1]));
      }
      return Promise.resolve();
    });
    await prepareFeed(engine);
    await fillAll(engine);
    const shown = await engine.snapshot(async (tx) => {
      const at = await readLogCursor(tx, number);
      return await readLogSpan(tx, number, at, { types: new Set(["order"]), limit: 100 });
    });
    assert.deepEqual(shown.streams, late);
    const left = { begin: keys.shardedLog(number, 0), end: keys.shardedLog(number, 16) };
    assert.deepEqual(await engine.snapshot((tx) => tx.getRange(left)), []);
  });
});
