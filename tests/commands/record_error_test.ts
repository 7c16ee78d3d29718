/** Spec: "Error record": stored at a 5xx, retrievable for 24 hours, then 404. */

import assert from "node:assert/strict";
import type { Engine } from "../../src/kv/engine.ts";
import { refusalOf, valueOf, withService } from "../support/service_fixture.ts";

const error = {
  error_type: "internal",
  message: "What failed",
  context: { event_key: "order:global" },
  request_id: "request-1",
};

Deno.test("recordError() gives an id under which the record is found for 24 hours", async () => {
  await withService(async ({ service, host, tenants: { test } }) => {
    const id = service.data.recordError(test, error);
    assert.match(id, /^err_[0-9a-f]{36}$/);
    assert.deepEqual(valueOf(await service.data.readError(test, id)), {
      error_id: id,
      ...error,
      occurred_at: "2026-01-01T00:00:00.000Z",
    });
    host.timeMs += 24 * 3600 * 1000;
    assert.equal(refusalOf(await service.data.readError(test, id)).kind, "not_found");
  });
});

Deno.test("readError() shows a record to its own instance and environment alone", async () => {
  await withService(async ({ service, tenants: { test, staging } }) => {
    const id = service.data.recordError(test, error);
    assert.equal(refusalOf(await service.data.readError(staging, id)).kind, "not_found");
    assert.equal(refusalOf(await service.data.readError(test, "err_0")).kind, "not_found");
  });
});

Deno.test("recordError() keeps records in memory while the store is away", async () => {
  let away = false;
  const wrap = (engine: Engine): Engine => ({
    transact: (body) => away ? Promise.reject(new Error("away")) : engine.transact(body),
    snapshot: (body) => away ? Promise.reject(new Error("away")) : engine.snapshot(body),
    watch: (key) => engine.watch(key),
    close: () => engine.close(),
  });
  await withService(async ({ service, host, tenants: { test } }) => {
    away = true;
    const id = service.data.recordError(test, error);
    await host.yieldTurn();
    assert.equal(valueOf(await service.data.readError(test, id)).message, "What failed");
    away = false;
  }, { wrap });
});

Deno.test("recordError() without a tenant gives an id and keeps nothing", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const id = service.data.recordError(undefined, error);
    assert.match(id, /^err_/);
    assert.equal(refusalOf(await service.data.readError(test, id)).kind, "not_found");
  });
});
