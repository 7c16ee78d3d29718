/** Settling deliveries: each once, whoever else settles it, and each lane separately. */

import assert from "node:assert/strict";
import {
  type DeliveryChange,
  openDeliverySettler,
} from "../../../src/features/listeners/settle_deliveries.ts";
import type { Delivery, Lane } from "../../../src/domain/listener/delivery.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import {
  encodeDelivery,
  putDelivery,
  readDelivery,
} from "../../../src/store/listeners/deliveries.ts";
import { listEnded } from "../../../src/store/listeners/ended_deliveries.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { poisonedEngine } from "../../support/poisoned_engine.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const PAGE = { limit: 1_000, reverse: false };

function laneOf(name: string): Lane {
  return { tenant: 1, listener: "hook", stream: streamKey("order", name) };
}

function deliveryOf(id: string): Delivery {
  return { id, sinceMs: 0, dueMs: 0, url: "https://hook", tries: [], triesBefore: 0 };
}

/** After one more attempt, to be tried again. */
function failed(before: Delivery, at: string): DeliveryChange {
  const tries = [...before.tries, { at, status: 500, duration_ms: 1 }];
  return { index: 0, before, after: { ...before, tries, dueMs: 5_000 }, atMs: 1 };
}

function delivered(before: Delivery): DeliveryChange {
  return { index: 0, before, after: before, end: { state: "delivered" }, atMs: 1 };
}

async function put(engine: Engine, lane: Lane, delivery: Delivery): Promise<void> {
  await engine.transact((tx) =>
    Promise.resolve(putDelivery(tx, lane, 0, encodeDelivery(delivery)))
  );
}

function countDelivered(engine: Engine): Promise<number> {
  const at = { tenant: 1, listener: "hook" };
  return engine.snapshot(async (tx) => (await listEnded(tx, at, "delivered", PAGE)).length);
}

Deno.test("what one process has settled, another one does not settle again", async () => {
  await withTemporaryEngine(async (engine) => {
    const [lane, before] = [laneOf("a"), deliveryOf("d1")];
    await put(engine, lane, before);
    const settle = (change: DeliveryChange) =>
      openDeliverySettler(engine, fakeHost()).settle({ lane, changes: [change], hasNext: false });
    const change = delivered(before);
    assert.deepEqual(await settle(change), { changed: [change], goesOn: false });
    const lost: DeliveryChange = { ...change, end: { state: "dead", reason: "tries_used_up" } };
    assert.deepEqual(await settle(lost), { changed: [], goesOn: false });
    assert.equal(await countDelivered(engine), 1);
    const dead = await engine.snapshot((tx) => listEnded(tx, lane, "dead", PAGE));
    assert.deepEqual(dead, []);
  });
});

Deno.test("a try is counted once, and one that another process has counted meanwhile stays", async () => {
  await withTemporaryEngine(async (engine) => {
    const [lane, before] = [laneOf("a"), deliveryOf("d1")];
    await put(engine, lane, before);
    const settle = (change: DeliveryChange) =>
      openDeliverySettler(engine, fakeHost()).settle({ lane, changes: [change], hasNext: false });
    const first = failed(before, "first");
    assert.deepEqual((await settle(first)).changed, [first]);
    assert.deepEqual((await settle(failed(before, "second"))).changed, []);
    assert.deepEqual((await settle(delivered(before))).changed, []);
    const stored = await engine.snapshot((tx) => readDelivery(tx, lane, 0));
    assert.deepEqual(stored, first.after);
  });
});

Deno.test("a delivery that was asked for anew is not settled by what became of the old one", async () => {
  await withTemporaryEngine(async (engine) => {
    const [lane, before] = [laneOf("a"), deliveryOf("d1")];
    await put(engine, lane, { ...before, triesBefore: 1 });
    const settler = openDeliverySettler(engine, fakeHost());
    const { changed } = await settler.settle({ lane, changes: [delivered(before)], hasNext: true });
    assert.deepEqual(changed, []);
    assert.equal(await countDelivered(engine), 0);
  });
});

Deno.test("however many lanes are settled at once, each is", async () => {
  await withTemporaryEngine(async (engine) => {
    const lanes = Array.from({ length: 230 }, (_, number) => laneOf(`n${number}`));
    for (const [number, lane] of lanes.entries()) {
      await put(engine, lane, deliveryOf(`d${number}`));
    }
    const settler = openDeliverySettler(engine, fakeHost());
    const settled = await Promise.all(
      lanes.map((lane, number) =>
        settler.settle({ lane, changes: [delivered(deliveryOf(`d${number}`))], hasNext: false })
      ),
    );
    assert.ok(settled.every(({ changed }) => changed.length === 1));
    assert.equal(await countDelivered(engine), 230);
  });
});

Deno.test("a fault of one lane is that lane's alone", async () => {
  await withTemporaryEngine(async (engine) => {
    const names = ["a", "poisoned", "c"];
    for (const name of names) await put(engine, laneOf(name), deliveryOf(name));
    const settler = openDeliverySettler(poisonedEngine(engine, () => "poisoned"), fakeHost());
    const settled = await Promise.allSettled(names.map((name) =>
      settler.settle({
        lane: laneOf(name),
        changes: [failed(deliveryOf(name), "first")],
        hasNext: true,
      })
    ));
    assert.deepEqual(settled.map(({ status }) => status), ["fulfilled", "rejected", "fulfilled"]);
    const tries = await engine.snapshot((tx) =>
      Promise.all(
        names.map(async (name) => (await readDelivery(tx, laneOf(name), 0))!.tries.length),
      )
    );
    assert.deepEqual(tries, [1, 0, 1]);
  });
});
