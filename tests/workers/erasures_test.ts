/** The erasure worker: does what is due, and nothing earlier. */

import assert from "node:assert/strict";
import { erasureWorker, timerWorker } from "../../src/workers/workers.ts";
import { erasureOf, eventsOf } from "../support/erasure_fixtures.ts";
import { noteWrite, uuid, valueOf, withService } from "../support/service_fixture.ts";

Deno.test("erasureWorker() erases a stream when its time has come, and ends between two steps", async () => {
  await withService(async ({ service, host, tenants: { test } }) => {
    const worker = erasureWorker(service);
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "one")));
    const request = erasureOf(`order:${uuid(1)}`, { grace_hours: 1 });
    const { id } = valueOf(await service.erasure.request(test, request));
    assert.equal(await worker.drain(100), 0);
    host.timeMs += 3_600_000;
    assert.equal(await timerWorker(service).drain(100), 1);
    assert.equal(await worker.drain(100, () => true), 0);
    assert.equal(valueOf(await service.erasure.read(test, id)).state, "pending");
    assert.ok(await worker.drain(100) > 1);
    assert.equal(valueOf(await service.erasure.read(test, id)).state, "completed");
    assert.equal(await worker.drain(100), 0);
    assert.match((await eventsOf(service, test, uuid(1)))[0]!.raw, /_was_tombstoned/);
  });
});
