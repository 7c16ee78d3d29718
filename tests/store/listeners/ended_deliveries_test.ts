/** Ended deliveries are kept for their retention, and up to their maximum number. */

import assert from "node:assert/strict";
import type {
  Delivery,
  DeliveryEnd,
  EndedDelivery,
} from "../../../src/domain/listener/delivery.ts";
import { deliveryId } from "../../../src/domain/listener/delivery_id.ts";
import { limits } from "../../../src/domain/limits.ts";
import type { StreamKey } from "../../../src/domain/identifier.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import {
  clearEnded,
  countEnded,
  type EndedDeliveryPlace,
  findEnded,
  listEnded,
  storeEnded,
  sweepEndedDeliveries,
} from "../../../src/store/listeners/ended_deliveries.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const NOW = 1_800_000_000_000;
const HOUR_MS = 3600_000;
const AT = { tenant: 1, listener: "hook" };
const DELIVERED: DeliveryEnd = { state: "delivered" };
const DEAD: DeliveryEnd = { state: "dead", reason: "gone" };

function ended(number: number, end: DeliveryEnd, endedMs = NOW): EndedDelivery {
  const id = deliveryId(endedMs, number, new Uint8Array(6));
  const url = "https://example.com/";
  const delivery: Delivery = { id, sinceMs: NOW, dueMs: 0, url, tries: [], triesBefore: 0 };
  return { delivery, stream: "order:x" as StreamKey, index: number, end, endedMs };
}

async function store(engine: Engine, all: readonly EndedDelivery[], at = AT): Promise<void> {
  for (let from = 0; from < all.length; from += 1_000) {
    await engine.transact((tx) => {
      for (const each of all.slice(from, from + 1_000)) storeEnded(tx, at, each);
      return Promise.resolve();
    });
  }
}

/** A whole round; returns how many were removed. */
async function sweep(engine: Engine, limit: number): Promise<number> {
  let removed = 0;
  let after: EndedDeliveryPlace | undefined;
  for (let steps = 0; steps < 2_000; steps++) {
    const step = await engine.transact((tx) =>
      sweepEndedDeliveries(tx, 1, { after, nowMs: NOW, limit })
    );
    removed += step.removed;
    after = step.next;
    if (after === undefined) return removed;
  }
  throw new Error("the round does not end");
}

Deno.test("one that is over is found by its id, listed both ways, and gone when it is cleared", async () => {
  await withTemporaryEngine(async (engine) => {
    const all = [1, 2, 3].map((number) => ended(number, DELIVERED));
    await store(engine, [...all, ended(4, DEAD)]);
    const [first, second, third] = all;
    const found = await engine.snapshot((tx) => findEnded(tx, AT, second!.delivery.id));
    assert.deepEqual(found, second);
    const list = (after: string | undefined, reverse: boolean) =>
      engine.snapshot((tx) => listEnded(tx, AT, "delivered", { limit: 2, after, reverse }));
    assert.deepEqual(await list(undefined, true), [third, second]);
    assert.deepEqual(await list(second!.delivery.id, true), [first]);
    assert.deepEqual(await list(first!.delivery.id, false), [second, third]);
    await engine.transact((tx) => Promise.resolve(clearEnded(tx, AT, second!)));
    assert.equal(await engine.snapshot((tx) => findEnded(tx, AT, second!.delivery.id)), undefined);
    assert.equal(await engine.snapshot((tx) => countEnded(tx, AT, "delivered", 10)), 2);
    assert.equal(await engine.snapshot((tx) => countEnded(tx, AT, "delivered", 1)), 1);
  });
});

for (const limit of [1, 3, 100]) {
  Deno.test(`each is kept until its time is over, in steps of ${limit}`, async () => {
    await withTemporaryEngine(async (engine) => {
      const day = 24 * HOUR_MS;
      const kept = [
        ended(1, DELIVERED, NOW - day + 1),
        ended(2, DEAD, NOW - 30 * day + 1),
        ended(3, { state: "dropped", reason: "event_erased" }, NOW - 30 * day + 1),
      ];
      const over = [ended(4, DELIVERED, NOW - day), ended(5, DEAD, NOW - 30 * day)];
      await store(engine, [...kept, ...over]);
      const other = { tenant: 1, listener: "other" };
      await store(engine, over, other);
      assert.equal(await sweep(engine, limit), 4);
      for (const { delivery } of kept) {
        assert.notEqual(await engine.snapshot((tx) => findEnded(tx, AT, delivery.id)), undefined);
      }
      assert.equal(await engine.snapshot((tx) => countEnded(tx, other, "dead", 10)), 0);
      assert.equal(await sweep(engine, limit), 0);
    });
  });
}

Deno.test("of those delivered so many are kept of each listener, the newest ones", async () => {
  await withTemporaryEngine(async (engine) => {
    const all = Array.from(
      { length: limits.deliveredKeptMax + 700 },
      (_, number) => ended(number, DELIVERED, NOW - HOUR_MS + number),
    );
    await store(engine, all);
    assert.equal(await sweep(engine, 500), 700);
    const page = { limit: 1, reverse: false };
    const [oldest] = await engine.snapshot((tx) => listEnded(tx, AT, "delivered", page));
    assert.deepEqual(oldest, all[700]);
  });
});
