/** The sweeper removes what has outlived its retention. */

import assert from "node:assert/strict";
import type { WorkShare } from "../../../src/features/base/share_work.ts";
import { createSweeper } from "../../../src/features/work/sweep.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import type { Service } from "../../../src/features/service.ts";
import { keys } from "../../../src/store/keys.ts";
import { parkEntry } from "../../../src/store/reactions/outbox.ts";
import { countParked } from "../../../src/store/reactions/parked_work.ts";
import { reactiveSpec, setOff, write } from "../../support/reactive_spec.ts";
import { noteWrite, uuid, valueOf, withService } from "../../support/service_fixture.ts";

const DAY_MS = 24 * 3600 * 1000;

/** Sweeps often enough to reach all tenants; returns the sum of what `sweep` reports. */
async function sweepAll(service: Service): Promise<number> {
  let removed = 0;
  for (let call = 0; call < 20; call++) removed += await service.background.sweep(2);
  return removed;
}

Deno.test("sweep() removes ended ledger entries and error records", async () => {
  await withService(async ({ service, engine, host, tenants: { test } }) => {
    const idempotency = { key: "k-1", bodyHash: "aa".repeat(32) };
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "a", { idempotency })));
    const error = { error_type: "internal", message: "m", context: {}, request_id: "r" };
    const errorId = service.data.recordError(test, error);
    await host.yieldTurn();
    assert.equal(await sweepAll(service), 0);
    assert.equal((await engine.snapshot((tx) => tx.getRange(keys.ledgers(test.number)))).length, 1);
    host.timeMs += DAY_MS + 2 * 3600 * 1000;
    assert.equal(await sweepAll(service), 2, "the record and the entry");
    const left = await engine.snapshot(async (tx) => [
      await tx.get(keys.ledger(test.number, "k-1")),
      await tx.get(keys.errorRecord(test.number, errorId)),
    ]);
    assert.deepEqual(left, [undefined, undefined]);
    assert.equal(valueOf(await service.data.readLength(test, "order", uuid(1))), 1);
  });
});

Deno.test("sweep() asks to go on at once where half of the ledger it looked at had ended", async () => {
  await withService(async ({ service, host, tenants: { test } }) => {
    for (let n = 0; n < 4; n++) {
      if (n === 2) host.timeMs += DAY_MS / 2;
      const idempotency = { key: `k-${n}`, bodyHash: "aa".repeat(32) };
      valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "a", { idempotency })));
    }
    host.timeMs += DAY_MS / 2;
    const calls = [];
    for (let call = 0; call < test.number + 2; call++) {
      calls.push(await service.background.sweep(2));
    }
    assert.deepEqual(calls.filter((removed) => removed > 0), [2], calls.join());
  });
});

Deno.test("sweep() rests ten minutes after a round over all ledgers, then goes round again", async () => {
  await withService(async ({ service, engine, host, tenants: { test } }) => {
    const idempotency = { key: "k-1", bodyHash: "aa".repeat(32) };
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "a", { idempotency })));
    const isKept = async () =>
      await engine.snapshot((tx) => tx.get(keys.ledger(test.number, "k-1"))) !== undefined;
    host.timeMs += DAY_MS - 5 * 60 * 1000;
    await sweepAll(service);
    host.timeMs += 6 * 60 * 1000;
    await sweepAll(service);
    assert.equal(await isKept(), true, "ended a minute ago, within the rest");
    host.timeMs += 5 * 60 * 1000;
    await sweepAll(service);
    assert.equal(await isKept(), false);
  });
});

Deno.test("sweep() removes sagas thirty days after their end and not those that run, a few at a time", async () => {
  const step = {
    name: "wait",
    emit: { aggregate_type: "ledger", id: "$.id", event_type: "was_noted" },
    await: { aggregate_type: "ledger", event_types: ["was_counted"] },
    timeout_ms: 30 * DAY_MS,
  };
  const trigger = { aggregate_type: "order", event_type: "was_paid" };
  const short = { trigger, steps: [{ name: "note", emit: step.emit }] };
  const sagas = { short, long: { trigger, steps: [step] } };
  const spec = { ...reactiveSpec, modules: { sagas } };
  await withService(async ({ service, host, tenants: { test } }) => {
    for (let n = 1; n <= 5; n++) await write(service, test, setOff(uuid(n), "was_paid"));
    const listed = async (name: string) =>
      valueOf(await service.data.listSagas(test, { name })).data.map(({ state }) => state);
    assert.deepEqual(await listed("short"), Array(5).fill("completed"));
    host.timeMs += 30 * DAY_MS - 1_000;
    await sweepAll(service);
    assert.equal((await listed("short")).length, 5, "a second before their time is over");
    host.timeMs += 11 * 60_000;
    assert.ok(await sweepAll(service) >= 4, "it goes on at once where there is much to remove");
    assert.deepEqual(await listed("short"), []);
    assert.deepEqual(await listed("long"), Array(5).fill("running"));
  }, { spec });
});

Deno.test("sweep() removes what was given up thirty days after its last try", async () => {
  await withService(async ({ service, engine, host, tenants: { test } }) => {
    const place = { tenant: test.number, stream: streamKey("order", uuid(1)), index: 0, number: 0 };
    const entry = { kind: "sagas", eventType: "was_paid", requestId: "r" } as const;
    const work = { place, entry, sinceMs: host.timeMs, waitMs: 0, tries: 8, bytes: 0 };
    await engine.transact((tx) => Promise.resolve(parkEntry(tx, work)));
    const parked = () => engine.snapshot((tx) => countParked(tx, 10));
    host.timeMs += 30 * DAY_MS - 1;
    await sweepAll(service);
    assert.equal(await parked(), 1);
    host.timeMs += 10 * 60_000;
    await sweepAll(service);
    assert.equal(await parked(), 0);
  });
});

Deno.test("while another process sweeps, sweep() does nothing", async () => {
  await withService(async ({ service, engine, host, tenants: { test } }) => {
    const idempotency = { key: "k-1", bodyHash: "aa".repeat(32) };
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "a", { idempotency })));
    host.timeMs += 2 * DAY_MS;
    const share = { held: () => Promise.resolve([]) } as unknown as WorkShare;
    const sweeper = createSweeper(engine, host, share);
    for (let call = 0; call < 20; call++) assert.equal(await sweeper.sweep(100), 0);
    assert.equal((await engine.snapshot((tx) => tx.getRange(keys.ledgers(test.number)))).length, 1);
  });
});
