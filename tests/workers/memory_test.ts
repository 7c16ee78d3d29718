/** The memory worker drives the saving of what only this process knows. */

import assert from "node:assert/strict";
import { memoryWorker } from "../../src/workers/workers.ts";
import { orderWrite, uuid, valueOf, withService } from "../support/service_fixture.ts";

Deno.test("memoryWorker() saves what a read has folded, and then finds nothing", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const event = { type: "was_viewed", data: { fill: "x".repeat(900) } };
    const events = Array.from({ length: 100 }, () => event);
    valueOf(await service.data.writeEvents(test, orderWrite(uuid(1), events)));
    const request = { aggregateType: "order", id: uuid(1), synchronous: false };
    valueOf(await service.data.readAggregate(test, request));
    const worker = memoryWorker(service);
    assert.equal(await worker.drain(10), 1);
    assert.equal(await worker.drain(10), 0);
  });
});
