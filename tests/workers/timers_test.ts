/** The timer worker: fires what is due, and sleeps no longer than until the next timer. */

import assert from "node:assert/strict";
import { runWorker } from "../../src/workers/worker.ts";
import { timerWorker } from "../../src/workers/workers.ts";
import { eventsOf, reactiveSpec, setOff, write } from "../support/reactive_spec.ts";
import { uuid, valueOf, withService } from "../support/service_fixture.ts";

Deno.test("timerWorker() fires scheduled events as the clock goes, and stops at once", async () => {
  await withService(async ({ service, host, tenants: { test } }) => {
    for (const n of [1, 2]) await write(service, test, setOff(uuid(n), "was_promised"));
    const running = runWorker(timerWorker(service), host);
    host.timeMs += 60_000;
    for (let waited = 0; waited < 30_000; waited += 5) {
      const lengths = await Promise.all(
        [1, 2].map(async (n) => valueOf(await service.data.readLength(test, "order", uuid(n)))),
      );
      if (lengths.every((length) => length === 2)) break;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await running.stop();
    const types = (await eventsOf(service, test, "order", uuid(2))).map(({ type }) => type);
    assert.deepEqual(types, ["was_promised", "was_reminded"]);
  }, { spec: reactiveSpec });
});

Deno.test("timerWorker() waits as long as the service says", async () => {
  await withService(async ({ service, host, tenants: { test } }) => {
    const worker = timerWorker(service);
    await worker.drain(100);
    assert.equal(worker.idleMs, 500);
    await write(service, test, setOff(uuid(1), "was_promised"));
    host.timeMs += 59_990;
    await worker.drain(100);
    assert.equal(worker.idleMs, 10);
  }, { spec: reactiveSpec });
});
