/** The loops that keep projections up to date and build them. */

import assert from "node:assert/strict";
import { projectionBuildWorker, projectionWorker } from "../../src/workers/workers.ts";
import { runWorker } from "../../src/workers/worker.ts";
import { uuid, valueOf, withService } from "../support/service_fixture.ts";
import { ORDERS_SEEN, storedRows, writeShop } from "../support/shop_projections.ts";
import { until } from "../support/until.ts";
import { shopSpec } from "../support/projection_shop.ts";

Deno.test("a write is shown without anybody asking, soon after it, once the view is built", async () => {
  await withService(async ({ service, engine, host, tenants: { test } }) => {
    const workers = [projectionWorker(service), projectionBuildWorker(service)];
    const running = workers.map((worker) => runWorker(worker, host));
    try {
      valueOf(await service.projections.deploy(test, ORDERS_SEEN));
      const isReady = async () =>
        valueOf(await service.projections.list(test)).data[0]?.state === "ready";
      await until(isReady, "the build");
      const placed = { type: "was_placed", data: { customer: uuid(11) } };
      await writeShop(service, test, {
        streams: new Map(),
        stream: ["order", uuid(1)],
        event: placed,
        nowMs: host.timeMs,
      });
      await until(async () => (await storedRows(engine, test)).length === 1, "the row");
    } finally {
      for (const worker of running) await worker.stop();
    }
  }, { spec: shopSpec() });
});

Deno.test("a drain that is told to stop leaves the rest for later", async () => {
  await withService(async ({ service, host, tenants: { test } }) => {
    valueOf(await service.projections.deploy(test, ORDERS_SEEN));
    const placed = { type: "was_placed", data: { customer: uuid(11) } };
    await writeShop(service, test, {
      streams: new Map(),
      stream: ["order", uuid(1)],
      event: placed,
      nowMs: host.timeMs,
    });
    assert.equal(await projectionWorker(service).drain(100, () => true), 0);
    assert.equal(await projectionBuildWorker(service).drain(100, () => true), 0);
    assert.equal(await projectionWorker(service).drain(100, () => false), 1);
  }, { spec: shopSpec() });
});
