/**
 * `GET /_types`: the counts are those of the streams, whoever wrote them, however far a worker has
 * counted, and wherever a page ends.
 */

import assert from "node:assert/strict";
import type { TypesPage } from "../../../src/domain/reading.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import type { Tenant } from "../../../src/domain/tenant.ts";
import { checkStore } from "../../../src/features/checks/check_store.ts";
import { fillFeeds, prepareFeed } from "../../../src/features/feed/fill_feed.ts";
import type { Service } from "../../../src/features/service.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { encodeRecord } from "../../../src/store/json_record.ts";
import { keys } from "../../../src/store/keys.ts";
import { logCommit } from "../../../src/store/feed/commit_log.ts";
import { readCountedPlace, readTypeCounts } from "../../../src/store/feed/type_counts.ts";
import { typeCountWorker } from "../../../src/workers/workers.ts";
import { anyOperator } from "../../support/access_fixtures.ts";
import { erase } from "../../support/erasure_fixtures.ts";
import { faultyEngine } from "../../support/faulty_engine.ts";
import { fileOf, importRequest, lineOf } from "../../support/import_fixtures.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { makeOld } from "../../support/old_store.ts";
import {
  noteWrite,
  orderWrite,
  refusalOf,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";
import { exportText, imported, importText, openService } from "../../support/transfer_fixtures.ts";

async function typesOf(
  service: Service,
  tenant: Tenant,
  request: { limit?: number; start?: string } = {},
): Promise<TypesPage> {
  return valueOf(await service.data.readTypes(tenant, { limit: 1_000, ...request }));
}

/** `[aggregates, events]` of the types that have some. */
async function countsOf(service: Service, tenant: Tenant): Promise<Record<string, number[]>> {
  const page = await typesOf(service, tenant);
  assert.deepEqual([page.up_to_date, page.truncated], [true, false]);
  const used = page.data.filter(({ aggregates, events }) => aggregates > 0 || events > 0);
  return Object.fromEntries(used.map(({ type, ...count }) => [type, Object.values(count)]));
}

function stocked() {
  const targets = [{
    aggregateType: "inventory",
    id: "main",
    events: [{ type: "was_stocked", data: { by: 3 } }],
  }];
  return { ...orderWrite("", []), form: "single" as const, targets };
}

function placed(customer: string) {
  return { type: "was_placed", data: { customer } };
}

Deno.test("readTypes() lists each type of the spec by name, also those without events", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const page = await typesOf(service, test);
    const none = (type: string) => ({ type, aggregates: 0, events: 0 });
    assert.deepEqual(page, {
      data: [none("customer"), none("inventory"), none("order")],
      limit: 1_000,
      truncated: false,
      up_to_date: true,
    });
  });
});

Deno.test("readTypes() counts each write at once, and only in its environment", async () => {
  await withService(async ({ service, tenants: { test, staging } }) => {
    valueOf(await service.data.writeEvents(test, orderWrite(uuid(1), [placed("a"), placed("b")])));
    assert.deepEqual(await countsOf(service, test), { order: [1, 2] });
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "n")));
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(2), "n")));
    valueOf(await service.data.writeEvents(test, stocked()));
    assert.deepEqual(await countsOf(service, test), { inventory: [1, 1], order: [2, 4] });
    assert.deepEqual(await countsOf(service, staging), {});
    const first = await typesOf(service, test, { limit: 1, start: "customer" });
    assert.deepEqual(first, {
      data: [{ type: "inventory", aggregates: 1, events: 1 }],
      limit: 1,
      truncated: true,
      next_start: "inventory",
      up_to_date: true,
    });
    const rest = await typesOf(service, test, { start: first.next_start });
    assert.deepEqual(rest.data, [{ type: "order", aggregates: 2, events: 4 }]);
    const long = await service.data.readTypes(test, { limit: 1, start: "x".repeat(257) });
    assert.equal(refusalOf(long).kind, "bad_request");
  });
});

Deno.test("readTypes() stays true over imports, erasures and a transfer", async () => {
  await withService(async (fixture) => {
    const { service, engine, host, tenants: { test } } = fixture;
    const lines = Array.from({ length: 40 }, (_, n) => lineOf(n % 7, { text: "a" }));
    assert.ok((await service.imports.run(test, importRequest(fileOf(lines)))).ok);
    valueOf(await service.data.writeEvents(test, stocked()));
    const expected = { inventory: [1, 1], order: [7, 40] };
    assert.deepEqual(await countsOf(service, test), expected);
    await erase(fixture, JSON.parse(lines[0]!).key);
    assert.deepEqual(await countsOf(service, test), expected, "a marker for each event");
    const text = await exportText(engine, host, test);
    await withTemporaryEngine(async (other) => {
      const to = fakeHost("other");
      const { instanceId } = imported(await importText(other, to, text));
      const opened = openService(other, to, "test");
      const { service: there, close } = opened;
      const tenant = valueOf(await there.access.resolveTenant(anyOperator, instanceId, "test"));
      assert.deepEqual(await countsOf(there, tenant), expected);
      await close();
    });
  });
});

/** Logs as many commits of one order each as no request counts. */
async function logMuch(engine: Engine, tenant: number, count: number): Promise<void> {
  await engine.transact((tx) => {
    for (let n = 0; n < count; n++) {
      const stream = streamKey("order", uuid(n));
      logCommit(tx, tenant, [{ kind: "appended", stream, first: 0, count: 2 }]);
    }
    return Promise.resolve();
  });
}

Deno.test("a request counts a part of a long log, says so, and a worker counts the rest", async () => {
  await withService(async ({ service, engine, tenants: { test: tenant } }) => {
    await logMuch(engine, tenant.number, 9_000);
    const worker = typeCountWorker(service);
    let wakes = 0;
    const end = worker.listen!(() => wakes++);
    assert.equal(await worker.drain(10), 0, "nobody has asked");
    const part = await typesOf(service, tenant);
    assert.deepEqual([part.up_to_date, part.building], [false, undefined]);
    const { aggregates = 0, events } = part.data.find(({ type }) => type === "order") ?? {};
    assert.ok(aggregates >= 4_000 && aggregates < 5_000, String(aggregates));
    assert.equal(events, 2 * aggregates);
    assert.ok(wakes > 0);
    let turns = 0;
    while (await worker.drain(10) > 0) turns++;
    assert.ok(turns >= 2, "in slices");
    assert.deepEqual(await countsOf(service, tenant), { order: [9_000, 18_000] });
    assert.equal(await worker.drain(10), 0, "it is done");
    valueOf(await service.data.writeEvents(tenant, stocked()));
    const place = await engine.snapshot((tx) => readCountedPlace(tx, tenant.number));
    const expected = { inventory: [1, 1], order: [9_000, 18_000] };
    assert.deepEqual(await countsOf(service, tenant), expected);
    assert.equal(await worker.drain(10), 0, "little is counted by each request");
    assert.equal(await engine.snapshot((tx) => readCountedPlace(tx, tenant.number)), place);
    await end();
  });
});

for (const landed of [false, true]) {
  Deno.test(`counting goes on where it was when a commit is lost (landed: ${landed})`, async () => {
    let fail = false;
    await withService(async ({ service, engine, tenants: { test: tenant } }) => {
      await logMuch(engine, tenant.number, 6_000);
      await typesOf(service, tenant);
      fail = true;
      await assert.rejects(service.feed.countTypes());
      fail = false;
      while (await service.feed.countTypes() > 0);
      const counts = await engine.snapshot((tx) => readTypeCounts(tx, tenant.number));
      assert.deepEqual([...counts], [["order", { aggregates: 6_000, events: 12_000 }]]);
    }, {
      wrap: (engine) =>
        faultyEngine(engine, () => fail ? { kind: "unavailable", landed } : undefined),
    });
  });
}

Deno.test("while the time before the feed is filled in, nothing is counted and it says so", async () => {
  await withService(async ({ service, engine, tenants: { test } }) => {
    for (let n = 0; n < 3; n++) {
      valueOf(await service.data.writeEvents(test, noteWrite(uuid(n), "old")));
    }
    await makeOld(engine, test);
    await prepareFeed(engine);
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(0), "new")));
    const page = await typesOf(service, test);
    assert.deepEqual([page.up_to_date, page.building], [false, true]);
    assert.ok(page.data.every(({ events }) => events === 0));
    while (await fillFeeds(engine) > 0);
    assert.deepEqual(await countsOf(service, test), { order: [3, 4] });
  });
});

Deno.test("checkStore() compares the counts with the log up to their place", async () => {
  await withService(async ({ service, engine, tenants: { test } }) => {
    for (let n = 0; n < 600; n++) {
      valueOf(await service.data.writeEvents(test, noteWrite(uuid(n % 50), "n")));
    }
    await typesOf(service, test);
    assert.equal(await service.feed.countTypes(), 1);
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(99), "not counted yet")));
    assert.deepEqual((await checkStore(engine, true)).faults, []);
    const wrong = encodeRecord({ aggregates: 50, events: 601 });
    await engine.transact((tx) =>
      Promise.resolve(tx.set(keys.typeCount(test.number, "order"), wrong))
    );
    const { faults } = await checkStore(engine, true);
    assert.deepEqual(faults.map(({ subject, fault }) => [subject, fault]), [
      ["order", "the counts of the type are not those of the commit log"],
    ]);
  });
});
