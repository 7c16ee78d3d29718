/** The delivery worker: what is written is sent without delay. */

import assert from "node:assert/strict";
import { deliveryWorker } from "../../src/workers/workers.ts";
import { runWorker } from "../../src/workers/worker.ts";
import { note, told, withListeners } from "../support/listener_fixtures.ts";
import { uuid } from "../support/service_fixture.ts";
import { until } from "../support/until.ts";

Deno.test("the worker begins with what was left, and with what is written while it runs", async () => {
  await withListeners(async ({ service, sender, test, host }) => {
    await note(service, test, uuid(1), "left");
    const worker = runWorker(deliveryWorker(service), host);
    await until(() => sender.sent.length === 1, "the first delivery");
    await note(service, test, uuid(2), "written");
    await until(() => sender.sent.length === 2, "the second delivery");
    await worker.stop();
    assert.deepEqual(told(sender.sent), ["left", "written"]);
  });
});
