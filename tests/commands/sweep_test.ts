/** What is older than its day goes. */

import assert from "node:assert/strict";
import { keys } from "../../src/store/keys.ts";
import { noteWrite, uuid, valueOf, withService } from "../support/service_fixture.ts";

const DAY_MS = 24 * 3600 * 1000;

Deno.test("sweep() removes ended ledger entries and error records, and then finds nothing", async () => {
  await withService(async ({ service, engine, host, tenants: { test } }) => {
    const idempotency = { key: "k-1", bodyHash: "aa".repeat(32) };
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "a", { idempotency })));
    const error = { error_type: "internal", message: "m", context: {}, request_id: "r" };
    const errorId = service.data.recordError(test, error);
    await host.yieldTurn();
    assert.equal(await service.background.sweep(100), 0);
    host.timeMs += DAY_MS + 2 * 3600 * 1000;
    assert.equal(await service.background.sweep(100), 2);
    assert.equal(await service.background.sweep(100), 0);
    const left = await engine.snapshot(async (tx) => [
      await tx.get(keys.ledger(test.number, "k-1")),
      await tx.get(keys.errorRecord(test.number, errorId)),
    ]);
    assert.deepEqual(left, [undefined, undefined]);
    assert.equal(valueOf(await service.data.readLength(test, "order", uuid(1))), 1);
  });
});
