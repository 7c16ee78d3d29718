/** `GET /{aggregate_type}`: listing aggregates. See docs/reference/reading.md. */

import assert from "node:assert/strict";
import type { ListAggregatesRequest } from "../../../src/domain/reading.ts";
import type { Tenant } from "../../../src/domain/tenant.ts";
import { listAggregates, type ListParts } from "../../../src/features/states/list_aggregates.ts";
import type { Service } from "../../../src/features/service.ts";
import {
  noteWrite,
  orderWrite,
  refusalOf,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";

type Change = Partial<ListAggregatesRequest>;

async function list(service: Service, tenant: Tenant, change: Change = {}) {
  const request = { aggregateType: "order", resolve: false, synchronous: false, ...change };
  return valueOf(await service.data.listAggregates(tenant, request));
}

Deno.test("listAggregates() shows all four kinds of id once they have an event, in byte order", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    assert.deepEqual((await list(service, test)).entries, []);
    const ids = ["main", "global", "4F7K2M9QX", `${uuid(1)}:b`, `${uuid(1)}:a`, uuid(1)];
    for (const id of ids) valueOf(await service.data.writeEvents(test, noteWrite(id, "a")));
    valueOf(await service.data.writeEvents(test, noteWrite("4f7k2m9qx", "the same aggregate")));
    const { entries, truncated } = await list(service, test);
    assert.deepEqual(entries.map(({ id }) => id), ids.sort());
    assert.equal(truncated, false);
  });
});

Deno.test("listAggregates() pages exactly: truncated only when something follows", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const ids = Array.from({ length: 7 }, (_, n) => uuid(n));
    for (const id of ids) valueOf(await service.data.writeEvents(test, noteWrite(id, "a")));
    for (let limit = 1; limit <= 8; limit++) {
      const found: string[] = [];
      let start: string | undefined;
      do {
        const page = await list(service, test, { limit, start });
        found.push(...page.entries.map(({ id }) => id));
        assert.equal(page.truncated, found.length < ids.length);
        assert.equal(page.nextStart, page.truncated ? found.at(-1) : undefined);
        start = page.nextStart;
      } while (start !== undefined);
      assert.deepEqual(found, ids);
    }
  });
});

Deno.test("listAggregates() gives 50 by default and clamps a larger limit than 200", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    for (let n = 0; n < 51; n++) {
      valueOf(await service.data.writeEvents(test, noteWrite(uuid(n), "a")));
    }
    const usual = await list(service, test);
    assert.deepEqual([usual.entries.length, usual.limit, usual.truncated], [50, 50, true]);
    const clamped = await list(service, test, { limit: 201 });
    assert.deepEqual([clamped.limit, clamped.limitClamped], [200, true]);
    assert.equal((await list(service, test, { limit: 200 })).limitClamped, false);
  });
});

Deno.test("listAggregates() with resolve gives what a single GET gives", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    for (const n of [1, 2, 2, 3]) {
      valueOf(await service.data.writeEvents(test, noteWrite(uuid(n), `n${n}`)));
    }
    for (const synchronous of [false, true]) {
      const { entries } = await list(service, test, { resolve: true, synchronous });
      for (const entry of entries) {
        const request = { aggregateType: "order", id: entry.id, synchronous: false };
        const single = valueOf(await service.data.readAggregate(test, request));
        assert.deepEqual("view" in entry && entry.view, single);
      }
      assert.equal(entries.length, 3);
    }
  });
});

Deno.test("listAggregates() marks what does not fit the budget and goes on with the rest", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const event = { type: "was_viewed", data: { fill: "x".repeat(100_000) } };
    const events = Array.from({ length: 70 }, () => event);
    for (let n = 0; n < 5; n++) {
      valueOf(await service.data.writeEvents(test, orderWrite(uuid(1), events)));
    }
    for (const n of [0, 2]) {
      valueOf(await service.data.writeEvents(test, noteWrite(uuid(n), "small")));
    }
    const { entries } = await list(service, test, { resolve: true, synchronous: true });
    assert.deepEqual(entries.map((entry) => "error" in entry ? entry.error : "view" in entry), [
      true,
      "fold_budget_exceeded",
      true,
    ]);
  });
});

Deno.test("listAggregates() ends a page before an aggregate that only the next page can read", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const event = { type: "was_viewed", data: { fill: "x".repeat(100_000) } };
    const events = Array.from({ length: 75 }, () => event);
    for (const n of [1, 2, 3]) {
      for (let batch = 0; batch < 2; batch++) {
        valueOf(await service.data.writeEvents(test, orderWrite(uuid(n), events)));
      }
    }
    const whole = { resolve: true, synchronous: true };
    const first = await list(service, test, whole);
    assert.deepEqual(first.entries.map((entry) => "view" in entry), [true, true]);
    assert.deepEqual([first.truncated, first.nextStart], [true, uuid(2)]);
    const second = await list(service, test, { ...whole, start: uuid(2) });
    assert.deepEqual(second.entries.map((entry) => "view" in entry), [true]);
    assert.equal(second.truncated, false);
  });
});

Deno.test("listAggregates() rests between folds, also if each of them is short", async () => {
  await withService(async ({ service, engine, host, tenants: { test } }) => {
    for (let n = 0; n < 20; n++) {
      valueOf(await service.data.writeEvents(test, noteWrite(uuid(n), "a")));
    }
    let [nowMs, turns] = [0, 0];
    const clock = {
      monotonicMs: () => nowMs,
      yieldTurn: () => (turns++, host.yieldTurn()),
    };
    const view = { dataJson: "{}", length: 1, createdAt: 1, updatedAt: 1 };
    const reader = {
      readState: () => {
        nowMs += 3;
        return Promise.resolve({ ok: true, value: { view, bytesRead: 1 } });
      },
    };
    const spec = { aggregateTypes: new Map([["order", { name: "order" }]]) };
    const specs = { current: () => Promise.resolve(spec) };
    const parts = { engine, host: { ...host, ...clock }, specs, reader } as unknown as ListParts;
    const request = { aggregateType: "order", resolve: true, synchronous: true };
    const { entries } = valueOf(await listAggregates(parts, test, request));
    assert.equal(entries.length, 20);
    assert.ok(turns >= 9, `${turns} turns for 60 ms`);
  });
});

Deno.test("listAggregates() refuses an unknown type and a cursor no id can have", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const request = { aggregateType: "parcel", resolve: false, synchronous: false };
    const unknown = refusalOf(await service.data.listAggregates(test, request));
    assert.equal(unknown.kind, "aggregate_type_unknown");
    const long = { ...request, aggregateType: "order", start: "x".repeat(20_000) };
    const refusal = refusalOf(await service.data.listAggregates(test, long));
    assert.equal("path" in refusal && refusal.path, "start");
  });
});
