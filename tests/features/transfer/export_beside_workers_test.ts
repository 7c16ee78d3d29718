/**
 * Exports while workers run: the file shows one moment. No event and its pending entry are both
 * in it, and neither is missing from both.
 */

import assert from "node:assert/strict";
import { SEGMENT_LIMITS } from "../../../src/features/transfer/read_streams.ts";
import { FoundationdbEngine } from "../../../src/kv/foundationdb/engine.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { memoryDatabase } from "../../support/memory_foundationdb.ts";
import {
  type MovingShop,
  movingSpec,
  openMovedShop,
  openMovingShop,
} from "../../support/moving_shop.ts";
import { eventsOf } from "../../support/reactive_spec.ts";
import { uuid, valueOf, withService } from "../../support/service_fixture.ts";
import { besides, exportText } from "../../support/transfer_fixtures.ts";

const IDS = Array.from({ length: 6 }, (_, number) => uuid(number + 1));
/** Two heads or two work items a transaction, so that each round takes many transactions. */
const SMALL = { ...SEGMENT_LIMITS, batch: 2, heads: 2 };

/**
 * Returns a function that runs `body` with a shop on a cluster in memory, each time in the
 * state that `fill` left.
 */
async function shopMaker(fill: (shop: MovingShop) => Promise<void>) {
  let text = "";
  let timeMs = 0;
  await withService(async ({ engine, host, tenants: { test } }) => {
    const shop = openMovingShop(engine, host, test);
    await fill(shop);
    text = await exportText(engine, host, test);
    timeMs = host.timeMs;
    await shop.close();
  }, { spec: movingSpec });
  return (body: (shop: MovingShop) => Promise<void>) => withMoved(text, timeMs, body);
}

/** Runs `body` with the imported file, on a cluster in memory. */
async function withMoved<T>(
  text: string,
  timeMs: number,
  body: (shop: MovingShop) => Promise<T>,
): Promise<T> {
  const host = fakeHost("other");
  host.timeMs = timeMs;
  const engine = new FoundationdbEngine({ database: memoryDatabase(), host });
  const shop = await openMovedShop(engine, host, text);
  try {
    return await body(shop);
  } finally {
    await shop.close();
    await engine.close();
  }
}

/** Every kind of reaction to orders: some done, some waiting, some due. */
async function fill(shop: MovingShop): Promise<void> {
  for (const id of IDS) await shop.write(id, "was_placed", "was_promised");
  await shop.write(IDS[0]!, "was_delayed", ...Array<string>(6).fill("was_placed"));
  await shop.service.background.drainOutbox(1);
  await shop.write(IDS[1]!, "was_paid");
  shop.host.timeMs += 59_500;
}

/** A key that belongs to no tenant here. */
const OTHER = new Uint8Array([0x16, 0x7f]);

/** An export that calls `between` after each of its transactions. */
function exportWith(shop: MovingShop, between: () => Promise<void>): Promise<string> {
  const busy = besides(shop.engine, async () => {
    // Writes of others do not matter, but they raise the store's version.
    await shop.engine.transact((tx) => Promise.resolve(tx.add(OTHER, 1n)));
    await between();
  });
  return exportText(busy, shop.host, shop.tenant, { limits: SMALL });
}

/** How many events of each type each stream has in the end. */
async function endOf(shop: MovingShop): Promise<Record<string, number>> {
  for (let step = 0; step < 4; step++) {
    await shop.work();
    shop.host.timeMs += 60_000;
  }
  const counts: Record<string, number> = {};
  for (const id of IDS) {
    for (const type of ["order", "ledger", "payment"]) {
      for (const event of await eventsOf(shop.service, shop.tenant, type, id)) {
        const name = `${event.key} ${event.type}`;
        counts[name] = (counts[name] ?? 0) + 1;
      }
    }
  }
  return counts;
}

type Between = (shop: MovingShop) => Promise<unknown>;

const STEPS: readonly (readonly [name: string, step: Between])[] = [
  ["all entries of the outbox are done", (shop) => shop.service.background.drainOutbox(100)],
  ["one entry of each shard is done", (shop) => shop.service.background.drainOutbox(1)],
  ["timers become due and fire", async (shop) => {
    shop.host.timeMs += 1_000;
    await shop.service.background.drainTimers(100);
  }],
  ["everything is done that is due", async (shop) => {
    shop.host.timeMs += 1_000;
    await shop.work();
  }],
];
/** More transactions than two rounds take. */
const PARTS = 60;

for (const [name, step] of STEPS) {
  Deno.test(`nothing is lost and nothing doubled when between two parts of an export ${name}`, async () => {
    const withShop = await shopMaker(fill);
    for (let at = 1; at <= PARTS; at++) {
      // Once, or each time up to that part.
      const isDue = at % 5 === 0 ? (part: number) => part <= at : (part: number) => part === at;
      await withShop(async (shop) => {
        let part = 0;
        const { timeMs } = shop.host;
        const text = await exportWith(shop, async () => {
          if (isDue(++part)) await step(shop);
        });
        assert.deepEqual(await withMoved(text, timeMs, endOf), await endOf(shop), `part ${at}`);
      });
    }
  });
}

Deno.test("work that changes without any event is told as it is at the moment of the file", async () => {
  const withShop = await shopMaker(async (shop) => {
    for (const id of IDS) await shop.write(id, "was_promised");
  });
  const list = async ({ service, tenant }: MovingShop) =>
    valueOf(await service.data.listScheduled(tenant, {})).data;
  for (let at = 1; at <= PARTS; at++) {
    await withShop(async (shop) => {
      let part = 0;
      const before = await list(shop);
      const text = await exportWith(shop, async () => {
        const isDue = ++part === at;
        if (isDue) {
          await shop.service.data.cancelScheduled(shop.tenant, before[0]!.scheduled_id);
          await shop.service.data.cancelScheduled(shop.tenant, before[5]!.scheduled_id);
        }
      });
      const found = await withMoved(text, shop.host.timeMs, list);
      assert.ok(found.length === 6 || found.length === 4, `${found.length}: half of two at once`);
    });
  }
});

Deno.test("work that never stands still is no moment, and the export says so", async () => {
  const withShop = await shopMaker(async (shop) => {
    for (let number = 0; number < 100; number++) await shop.write(IDS[0]!, "was_promised");
  });
  await withShop(async (shop) => {
    let parts = 0;
    const busy = besides(shop.engine, async () => {
      // Several times in each round: two pieces are read in a transaction.
      if (++parts % 10 > 0) return;
      const { data } = valueOf(await shop.service.data.listScheduled(shop.tenant, { limit: 1 }));
      await shop.service.data.cancelScheduled(shop.tenant, data[0]!.scheduled_id);
    });
    await assert.rejects(
      exportText(busy, shop.host, shop.tenant, { limits: SMALL }),
      /written to in each of \d+ rounds/,
    );
  });
});

Deno.test("what one transaction holds is one moment, however busy the workers of a cluster are", async () => {
  const withShop = await shopMaker(fill);
  await withShop(async (shop) => {
    let drained = 0;
    const busy = besides(shop.engine, async () => {
      drained += await shop.service.background.drainOutbox(1);
    });
    const { timeMs } = shop.host;
    const text = await exportText(busy, shop.host, shop.tenant);
    assert.ok(drained > 0);
    assert.deepEqual(await withMoved(text, timeMs, endOf), await endOf(shop));
  });
});
