/** The outbox worker: does what a writer left, and is woken if the writer left it on purpose. */

import { wrapEngine } from "../../src/kv/calls.ts";
import assert from "node:assert/strict";
import { signalOutbox } from "../../src/store/reactions/outbox.ts";
import { createService } from "../../src/features/service.ts";
import { outboxWorker } from "../../src/workers/workers.ts";
import { runWorker } from "../../src/workers/worker.ts";
import { eventsOf, reactiveSpec, setOff, write } from "../support/reactive_spec.ts";
import { uuid, valueOf, withService } from "../support/service_fixture.ts";
import { until } from "../support/until.ts";

Deno.test("outboxWorker() does what a process has left that died after its write", async () => {
  await withService(async ({ service, engine, host, access, tenants: { test } }) => {
    let commitsLeft = 1;
    const dying = createService(
      wrapEngine(engine, {
        async transact(body) {
          if (commitsLeft-- <= 0) throw new Error("dead");
          return await engine.transact(body);
        },
      }),
      host,
      access,
      { isDirect: false },
    );
    await write(dying, test, setOff(uuid(1), "was_placed"));
    await dying.close();
    host.timeMs += 1_000;
    const running = runWorker(outboxWorker(service), host);
    const isThere = async () =>
      valueOf(await service.data.readLength(test, "ledger", uuid(1))) === 1;
    await until(isThere, "the implied event");
    await running.stop();
    assert.equal((await eventsOf(service, test, "ledger", uuid(1))).length, 1);
  }, { spec: reactiveSpec });
});

Deno.test("outboxWorker() drains when it is signalled, before its wait is over", async () => {
  await withService(async ({ service, engine, host }) => {
    let drains = 0;
    const worker = { ...outboxWorker(service), idleMs: 600_000 };
    const counted = {
      ...worker,
      drain: (limit: number) => {
        drains++;
        return worker.drain(limit);
      },
    };
    const running = runWorker(counted, host);
    try {
      await until(() => drains >= 1, "the first look");
      await new Promise((resolve) => setTimeout(resolve, 50));
      const before = drains;
      await engine.transact((tx) => Promise.resolve(signalOutbox(tx)));
      await until(() => drains > before, "a look at the signal");
    } finally {
      await running.stop();
    }
  });
});
