/** A row that takes seconds delays the projections of its own environment alone. */

import assert from "node:assert/strict";
import type { Environment, Tenant } from "../../../src/domain/tenant.ts";
import { EngineUnavailable } from "../../../src/kv/engine.ts";
import { type ServiceFixture, uuid, valueOf, withService } from "../../support/service_fixture.ts";
import { settleProjections } from "../../support/settle_projections.ts";
import { ORDERS_SEEN, storedRows, writeShop } from "../../support/shop_projections.ts";
import { shopSpec } from "../../support/projection_shop.ts";
import { type HeldLooks, openStreamGate, type StreamGate } from "../../support/stream_gate.ts";

interface Shops extends ServiceFixture {
  readonly gate: StreamGate;
  /** Two environments in the order in which a round comes to them. */
  readonly first: Tenant;
  readonly second: Tenant;
  place(tenant: Tenant, n: number): Promise<void>;
}

async function withShops(body: (shops: Shops) => Promise<void>): Promise<void> {
  const gate = openStreamGate();
  await withService(async (fixture) => {
    const { service, tenants, host } = fixture;
    const names: readonly Environment[] = ["test", "staging"];
    const [first, second] = names.map((name) => tenants[name])
      .toSorted((a, b) => a.number - b.number) as [Tenant, Tenant];
    for (const tenant of [first, second]) {
      valueOf(await service.projections.deploy(tenant, ORDERS_SEEN));
    }
    await settleProjections(service);
    const place: Shops["place"] = (tenant, n) =>
      writeShop(service, tenant, {
        streams: new Map(),
        stream: ["order", uuid(n)],
        event: { type: "was_placed", data: { customer: uuid(500) } },
        nowMs: host.timeMs,
      });
    await body({ ...fixture, gate, first, second, place });
  }, { spec: shopSpec(), wrap: gate.wrap });
}

Deno.test("a row that takes seconds holds up the rows of no other environment", async () => {
  await withShops(async ({ service: { projections }, engine, host, gate, ...shops }) => {
    const { first, second, place } = shops;
    await place(first, 1);
    await place(second, 1);
    const held = gate.hold(first.number);
    const round = projections.keepProjections(100);
    await held.begun;
    const looks = held.count();
    host.timeMs += 1_500;
    assert.equal(await round, 1, "the other one's");
    assert.equal((await storedRows(engine, second)).length, 1);
    assert.equal((await storedRows(engine, first)).length, 0);

    await place(second, 2);
    assert.equal(await projections.keepProjections(100), 1);
    assert.equal((await storedRows(engine, second)).length, 2);
    assert.equal(held.count(), looks, "the row is not begun a second time");

    held.release();
    await projections.settle();
    assert.equal((await storedRows(engine, first)).length, 1);
    assert.equal(await projections.keepProjections(100), 1, "what was late is counted");
    assert.equal(await projections.keepProjections(100), 0);
  });
});

Deno.test("a build whose rows take seconds holds up the builds of no other environment", async () => {
  await withShops(async ({ service, engine, host, gate, first, second, place }) => {
    const { projections } = service;
    for (const tenant of [first, second]) {
      await place(tenant, 1);
      valueOf(await projections.deploy(tenant, { ...ORDERS_SEEN, name: "others" }));
    }
    while (await projections.keepProjections(100) > 0);
    const isReady = async (tenant: Tenant) =>
      (await projections.show(tenant, "others"))?.state === "ready";
    const held = gate.hold(first.number);
    const round = projections.buildProjections();
    await held.begun;
    const looks = held.count();
    host.timeMs += 1_500;
    await round;
    for (let step = 0; step < 5; step++) await projections.buildProjections();
    assert.deepEqual([await isReady(first), await isReady(second)], [false, true]);
    assert.equal(held.count(), looks);

    held.release();
    await projections.settle();
    await settleProjections(service);
    assert.equal(await isReady(first), true);
    assert.equal((await storedRows(engine, first, "others")).length, 1);
  });
});

/** Begins a round in which the first environment is late. */
async function beginLate({ service, host, gate, first, place }: Shops): Promise<HeldLooks> {
  await place(first, 1);
  const held = gate.hold(first.number);
  const round = service.projections.keepProjections(100);
  await held.begun;
  host.timeMs += 1_500;
  await round;
  return held;
}

Deno.test("upkeep that fails when it is late is logged, and tried again later", async () => {
  await withShops(async (shops) => {
    const { service: { projections }, engine, host, first } = shops;
    const held = await beginLate(shops);
    held.fail(new Error("broken"));
    await projections.settle();
    assert.equal(await projections.keepProjections(100), 0);
    const lines = host.lines.filter(({ level }) => level === "error");
    assert.deepEqual(lines.map(({ message, fields }) => [message, fields]), [[
      "Projections could not be kept and are tried again",
      { name: String(first.number), reason: "broken" },
    ]]);
    host.timeMs += 250;
    assert.equal(await projections.keepProjections(100), 1);
    assert.equal((await storedRows(engine, first)).length, 1);
  });
});

Deno.test("a store that is away in late upkeep is told by the next round", async () => {
  await withShops(async (shops) => {
    const { projections } = shops.service;
    const held = await beginLate(shops);
    held.fail(new EngineUnavailable("away"));
    await projections.settle();
    await assert.rejects(projections.keepProjections(100), EngineUnavailable);
    assert.equal(await projections.keepProjections(100), 1);
  });
});

Deno.test("a service that closes waits for rows that are late", async () => {
  await withShops(async (shops) => {
    const held = await beginLate(shops);
    const closing = shops.service.close();
    held.release();
    await closing;
    assert.equal((await storedRows(shops.engine, shops.first)).length, 1);
  });
});
