/**
 * Error records: stored at a 5xx, retrievable for 24 hours, then 404. See
 * docs/reference/errors.md.
 */

import assert from "node:assert/strict";
import { wrapEngine } from "../../../src/kv/calls.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { refusalOf, valueOf, withService } from "../../support/service_fixture.ts";

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
  const wrap = (engine: Engine): Engine =>
    wrapEngine(engine, {
      transact: (body) => away ? Promise.reject(new Error("away")) : engine.transact(body),
      snapshot: (body) => away ? Promise.reject(new Error("away")) : engine.snapshot(body),
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

Deno.test("listErrors() has a record that is saved while the store is read", async () => {
  const isRead = Promise.withResolvers<void>();
  const isSaved = Promise.withResolvers<void>();
  let isHeld = false;
  const wrap = (engine: Engine): Engine =>
    wrapEngine(engine, {
      async transact(body) {
        if (isHeld) await isRead.promise;
        const value = await engine.transact(body);
        if (isHeld) isSaved.resolve();
        return value;
      },
      async snapshot(body) {
        const value = await engine.snapshot(body);
        if (!isHeld) return value;
        isRead.resolve();
        await isSaved.promise;
        // The record is dropped from memory once its commit is known.
        await new Promise((resolve) => setTimeout(resolve));
        return value;
      },
    });
  await withService(async ({ service, tenants: { test } }) => {
    isHeld = true;
    const id = service.data.recordError(test, error);
    const { data } = valueOf(await service.data.listErrors(test, {}));
    assert.deepEqual(data.map(({ error_id }) => error_id), [id]);
    isHeld = false;
  }, { wrap });
});

Deno.test("listErrors() gives the newest first, in pages, to its own environment alone", async () => {
  await withService(async ({ service, host, tenants: { test, staging } }) => {
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) {
      ids.unshift(service.data.recordError(test, error));
      host.timeMs += 1_000;
    }
    const list = async (page: { limit?: number; start?: string }) =>
      valueOf(await service.data.listErrors(test, page));
    const idsOf = (page: { data: readonly { error_id: string }[] }) =>
      page.data.map(({ error_id }) => error_id);
    const all = await list({});
    assert.deepEqual([idsOf(all), all.limit, all.truncated], [ids, 50, false]);
    const first = await list({ limit: 2 });
    assert.deepEqual(idsOf(first), ids.slice(0, 2));
    assert.equal(first.next_start, ids[1]);
    assert.deepEqual(idsOf(await list({ limit: 9, start: ids[1] })), ids.slice(2));
    assert.deepEqual(valueOf(await service.data.listErrors(staging, {})).data, []);
    const wide = await list({ limit: 900 });
    assert.deepEqual([wide.limit, wide.limit_clamped], [200, true]);
    const long = { start: "x".repeat(65) };
    assert.equal(refusalOf(await service.data.listErrors(test, long)).kind, "bad_request");
    host.timeMs += 24 * 3600 * 1000;
    assert.deepEqual(idsOf(await list({})), []);
  });
});

Deno.test("listErrors() also gives records that the store has not taken yet", async () => {
  let refusing = false;
  const wrap = (engine: Engine): Engine =>
    wrapEngine(engine, {
      transact: (body) => refusing ? Promise.reject(new Error("full")) : engine.transact(body),
    });
  await withService(async ({ service, host, tenants: { test } }) => {
    const stored = service.data.recordError(test, error);
    await host.yieldTurn();
    refusing = true;
    host.timeMs += 1;
    const held = service.data.recordError(test, error);
    await host.yieldTurn();
    const { data } = valueOf(await service.data.listErrors(test, {}));
    assert.deepEqual(data.map(({ error_id }) => error_id), [held, stored]);
    refusing = false;
  }, { wrap });
});
