/** The sweeper worker drives the service's removal of what has ended. */

import assert from "node:assert/strict";
import { keys } from "../../src/store/keys.ts";
import { sweeper } from "../../src/workers/workers.ts";
import { noteWrite, uuid, valueOf, withService } from "../support/service_fixture.ts";

Deno.test("sweeper() comes round to every ledger and removes what has ended", async () => {
  await withService(async ({ service, engine, host, tenants: { test } }) => {
    const idempotency = { key: "k-1", bodyHash: "aa".repeat(32) };
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "a", { idempotency })));
    host.timeMs += 24 * 3600 * 1000;
    const worker = sweeper(service);
    for (let round = 0; round < 6; round++) await worker.drain(100);
    const left = await engine.snapshot((tx) => tx.getRange(keys.ledgers(test.number)));
    assert.deepEqual(left, []);
  });
});
