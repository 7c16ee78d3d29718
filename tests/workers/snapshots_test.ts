/** The snapshot worker drives the service's background folding. */

import assert from "node:assert/strict";
import { snapshotWorker } from "../../src/workers/workers.ts";
import { orderWrite, uuid, valueOf, withService } from "../support/service_fixture.ts";

Deno.test("snapshotWorker() folds a stream that has grown, and then finds nothing", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const event = { type: "was_viewed", data: { fill: "x".repeat(4_000) } };
    const events = Array.from({ length: 1_050 }, () => event);
    valueOf(await service.data.writeEvents(test, orderWrite(uuid(1), events)));
    const worker = snapshotWorker(service);
    assert.equal(await worker.drain(10), 1);
    assert.equal(await worker.drain(10), 0);
  });
});
