/** Imported work reaches the queues with the import's last transaction or later, never before. */

import assert from "node:assert/strict";
import { importEnvironment } from "../../../src/features/transfer/import_environment.ts";
import { QUEUE_SHARDS } from "../../../src/domain/fairness/work_share.ts";
import { wrapEngine } from "../../../src/kv/calls.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { nextTransferredWork } from "../../../src/store/transfers.ts";
import { readInstanceBySlug, tenantOf } from "../../../src/store/access/instances.ts";
import { keys } from "../../../src/store/keys.ts";
import { fakeHost } from "../../support/fake_host.ts";
import {
  type MovingShop,
  movingSpec,
  openMovedShop,
  openMovingShop,
} from "../../support/moving_shop.ts";
import { drain, eventsOf } from "../../support/reactive_spec.ts";
import { makeInstance } from "../../support/access_fixtures.ts";
import { uuid, withService } from "../../support/service_fixture.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";
import { exportText, importText, inChunks, openService } from "../../support/transfer_fixtures.ts";

const ID = uuid(1);

/** The file of a shop with this many pending entries and as many reminders. */
async function shopFile(count: number): Promise<string> {
  let text = "";
  await withService(async ({ engine, host, tenants: { test } }) => {
    const shop = openMovingShop(engine, host, test);
    for (const type of ["was_placed", "was_promised"]) {
      await shop.write(ID, ...Array<string>(count).fill(type));
    }
    text = await exportText(engine, host, test);
    await shop.close();
  }, { spec: movingSpec });
  return text;
}

/** What the queues of the deployment hold, of all tenants. */
async function countQueued(engine: Engine): Promise<number> {
  const shards = Array.from({ length: QUEUE_SHARDS.outbox }, (_, shard) => shard);
  return await engine.snapshot(async (tx) => {
    const ranges = shards.flatMap((shard) => [keys.outboxes(shard), keys.timers(shard)]);
    const pairs = await Promise.all(ranges.map((range) => tx.getRange(range)));
    return pairs.flat().length;
  });
}

async function countEvents({ service, tenant }: MovingShop) {
  const notes = await eventsOf(service, tenant, "ledger", ID);
  const orders = await eventsOf(service, tenant, "order", ID);
  return [notes.length, orders.filter(({ type }) => type === "was_reminded").length];
}

/** An engine whose transactions fail once `isDown()`. */
function failing(engine: Engine, isDown: () => Promise<boolean>): Engine {
  return wrapEngine(engine, {
    transact: async (body) => {
      if (await isDown()) throw new Error("the import was killed");
      return await engine.transact(body);
    },
  });
}

Deno.test("half an import has nothing in the queues, and a server beside it does nothing", async () => {
  const bytes = new TextEncoder().encode(await shopFile(5));
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost("other");
    host.timeMs += 3_600_000;
    await makeInstance(engine, host, "neighbour");
    const { service, close } = openService(engine, host, "test");
    let looked = 0;
    async function* watched(): AsyncGenerator<Uint8Array> {
      for await (const chunk of inChunks(bytes, 500)) {
        assert.equal(await countQueued(engine), 0);
        assert.equal(await drain(service), 0);
        assert.equal(await service.background.sweep(500), 0);
        looked++;
        yield chunk;
      }
    }
    const outcome = await importEnvironment(engine, host, watched());
    assert.ok(outcome.ok);
    assert.ok(looked > 10);
    // For each order one entry and one for the sagas, for each reminder a timer.
    assert.equal(await countQueued(engine), 15);
    await close();
  });
});

Deno.test("a refused file leaves no work behind, in no queue", async () => {
  const text = await shopFile(5);
  const lines = text.split("\n");
  const end = lines.length - 2;
  await withTemporaryEngine(async (engine) => {
    const altered = lines.with(end, lines[end]!.replace(/"work":\d+/, '"work":1')).join("\n");
    const outcome = await importText(engine, fakeHost("other"), altered);
    assert.ok(!outcome.ok && outcome.fault.rule === "checksum", JSON.stringify(outcome));
    assert.equal(await countQueued(engine), 0);
    const left = await engine.snapshot((tx) => tx.getRange(keys.tenant(1)));
    assert.equal(left.length, 0);
  });
});

Deno.test("what one transaction can hold is in the queues with the environment", async () => {
  const text = await shopFile(100);
  await withTemporaryEngine(async (engine) => {
    const isThere = async () =>
      await engine.snapshot((tx) => readInstanceBySlug(tx, "shop")) !== undefined;
    const outcome = await importText(failing(engine, isThere), fakeHost("other"), text);
    assert.ok(outcome.ok);
    assert.equal(await countQueued(engine), 300);
    assert.equal(await engine.snapshot(nextTransferredWork), undefined);
  });
});

const MANY = 700;

Deno.test("an import that dies as soon as its environment is there is ended by the sweeper", async () => {
  const text = await shopFile(MANY);
  await withTemporaryEngine(async (engine) => {
    const isThere = async () =>
      await engine.snapshot((tx) => readInstanceBySlug(tx, "shop")) !== undefined;
    const host = fakeHost("other");
    assert.ok((await importText(failing(engine, isThere), host, text)).ok, "it is imported");
    assert.equal(await countQueued(engine), 1_000, "as many as the last transaction takes");
    const record = await engine.snapshot((tx) => readInstanceBySlug(tx, "shop"));
    const shop = openMovingShop(engine, host, tenantOf(record!, "test"));
    host.timeMs += 3_600_000;
    for (let sweeps = 0; await shop.service.background.sweep(500) > 0; sweeps++) {
      assert.ok(sweeps < 5);
    }
    assert.equal(await countQueued(engine), 3 * MANY, "all of it");
    assert.equal(await engine.snapshot(nextTransferredWork), undefined);
    await shop.work();
    assert.deepEqual(await countEvents(shop), [MANY, MANY]);
    await shop.close();
  });
});

Deno.test("an export of what an import has not quite ended has all its work", async () => {
  const text = await shopFile(MANY);
  await withTemporaryEngine(async (engine) => {
    const isThere = async () =>
      await engine.snapshot((tx) => readInstanceBySlug(tx, "shop")) !== undefined;
    const host = fakeHost("other");
    assert.ok((await importText(failing(engine, isThere), host, text)).ok);
    assert.notEqual(await engine.snapshot(nextTransferredWork), undefined);
    const record = await engine.snapshot((tx) => readInstanceBySlug(tx, "shop"));
    const exported = await exportText(engine, fakeHost(), tenantOf(record!, "test"));
    assert.equal(exported, text);
  });
});

Deno.test("thousands of pieces move, and each is done once", async () => {
  const text = await shopFile(MANY);
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost("other");
    const shop = await openMovedShop(engine, host, text);
    assert.equal(await countQueued(engine), 3 * MANY);
    host.timeMs += 60_000;
    await shop.work();
    assert.deepEqual(await countEvents(shop), [MANY, MANY]);
    await shop.close();
  });
});
