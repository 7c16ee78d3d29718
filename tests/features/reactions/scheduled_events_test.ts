/** What clients see of scheduled events: pages by id, without the cancelled ones. */

import assert from "node:assert/strict";
import { limits } from "../../../src/domain/limits.ts";
import type { Tenant } from "../../../src/domain/tenant.ts";
import type { Service } from "../../../src/features/service.ts";
import { readScheduled, showSchedules } from "../../../src/features/reactions/scheduled_events.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { wrapEngine } from "../../../src/kv/calls.ts";
import { type ScheduleRecord, storeSchedule } from "../../../src/store/reactions/schedules.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";
import { reactiveSpec, setOff, setOffAll, write } from "../../support/reactive_spec.ts";
import { refusalOf, uuid, valueOf, withService } from "../../support/service_fixture.ts";

const options = { spec: reactiveSpec };

async function promise(service: Service, tenant: Tenant, order: number, count: number) {
  const events = Array.from({ length: count }, () => ({ type: "was_promised", data: {} }));
  await write(service, tenant, setOffAll(uuid(order), events));
}

/** The ids on all pages, and the number of pages. */
async function allPages(service: Service, tenant: Tenant, limit: number) {
  const ids: string[] = [];
  let pages = 0;
  let start: string | undefined;
  do {
    const page = valueOf(await service.data.listScheduled(tenant, { limit, start }));
    assert.equal(page.truncated, page.next_start !== undefined);
    assert.ok(page.data.length <= limit);
    ids.push(...page.data.map(({ scheduled_id }) => scheduled_id));
    pages++;
    start = page.next_start;
  } while (start !== undefined);
  return { ids, pages };
}

Deno.test("scheduled events are listed by id, each once, page by page", async () => {
  await withService(async ({ service, tenants: { test, staging } }) => {
    await promise(service, test, 1, 10);
    const { ids } = await allPages(service, test, 200);
    assert.deepEqual(ids, ids.toSorted());
    assert.equal(new Set(ids).size, 10);
    for (const [limit, pages] of [[1, 10], [3, 4], [5, 2], [9, 2], [10, 1]] as const) {
      assert.deepEqual(await allPages(service, test, limit), { ids, pages });
    }
    assert.deepEqual((await allPages(service, staging, 5)).ids, []);
    const clamped = valueOf(await service.data.listScheduled(test, { limit: 1_000 }));
    assert.deepEqual([clamped.limit, clamped.limit_clamped], [limits.listPageMax, true]);
    const tooLong = await service.data.listScheduled(test, { start: "x".repeat(65) });
    assert.equal(refusalOf(tooLong).kind, "bad_request");
  }, options);
});

Deno.test("what one event has cancelled leaves no gaps in the pages", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    await promise(service, test, 1, limits.cancelledOneByOneMax + 1);
    await promise(service, test, 2, 20);
    const before = await allPages(service, test, 200);
    assert.equal(before.ids.length, limits.cancelledOneByOneMax + 21);
    await write(service, test, setOff(uuid(1), "was_paid"));
    const pending = await allPages(service, test, 200);
    assert.deepEqual([pending.ids.length, pending.pages], [20, 1]);
    for (const [limit, pages] of [[7, 3], [10, 2], [19, 2], [20, 1]] as const) {
      assert.deepEqual(await allPages(service, test, limit), { ids: pending.ids, pages });
    }
  }, options);
});

Deno.test("however many were cancelled, a page comes to its end, and the pages to theirs", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    for (const order of [1, 2]) await promise(service, test, order, 1_500);
    await write(service, test, setOff("global", "was_called_off"));
    await promise(service, test, 3, 5);
    const { ids, pages } = await allPages(service, test, 2);
    assert.equal(new Set(ids).size, 5);
    assert.equal(ids.length, 5);
    assert.ok(pages >= 3 && pages <= 8, `${pages} pages`);
  }, options);
});

const TENANT: Tenant = { instanceId: "i", environment: "test", number: 3 };
const RULE = { key: streamKey("order", "global"), eventType: "was_paid" };

/** With so many characters of data. */
function recordOf(number: number, characters: number): ScheduleRecord {
  const id = String(number).padStart(3, "0");
  const key = streamKey("order", "global");
  const data = { text: "x".repeat(characters) };
  return {
    id,
    emission: { key, aggregateType: "order", id: "global", eventType: "was_met", data },
    cancelOn: [{ ...RULE, mark: 0 }],
    createdMs: 1,
    fireAtMs: 2,
    by: { key, eventType: "was_placed", streamId: "000000000000" },
    requestId: "r",
    tries: 0,
    timerMs: 2,
  };
}

/** The same engine, which tells how many of its snapshots are under way. */
function watchSnapshots(inner: Engine) {
  const seen = { open: 0 };
  const engine = wrapEngine(inner, {
    async snapshot(body, options) {
      seen.open++;
      try {
        return await inner.snapshot(body, options);
      } finally {
        seen.open--;
      }
    },
  });
  return { engine, seen };
}

Deno.test("others have a turn before each large scheduled event of a page, and never in a snapshot", async () => {
  await withTemporaryEngine(async (inner) => {
    const records = Array.from({ length: 30 }, (_, number) => recordOf(number, 60_000));
    for (const record of records) {
      await inner.transact((tx) => Promise.resolve(storeSchedule(tx, TENANT.number, record)));
    }
    const { engine, seen } = watchSnapshots(inner);
    let [nowMs, open, turns] = [0, 0, 0];
    const host = {
      monotonicMs: () => nowMs += 5,
      yieldTurn() {
        open = Math.max(open, seen.open);
        turns++;
        return Promise.resolve();
      },
    };
    const page = valueOf(await showSchedules(engine, host, TENANT, { limit: 200 }));
    assert.equal(page.truncated, true);
    assert.ok(page.data.length >= 16 && page.data.length <= 24, `${page.data.length} of 60 KB`);
    assert.ok(turns >= page.data.length, `${turns} turns`);
    assert.equal(open, 0, "snapshots that were open in a turn of others");
  });
});

const sizes = [
  ["a large scheduled event is decoded in a turn of its own", 60_000, 1],
  ["a small scheduled event is decoded at once", 100, 0],
] as const;

for (const [name, characters, expected] of sizes) {
  Deno.test(name, async () => {
    await withTemporaryEngine(async (inner) => {
      const record = recordOf(7, characters);
      await inner.transact((tx) => Promise.resolve(storeSchedule(tx, TENANT.number, record)));
      const { engine, seen } = watchSnapshots(inner);
      let turns = 0;
      const host = {
        monotonicMs: () => 0,
        yieldTurn() {
          assert.equal(seen.open, 0);
          turns++;
          return Promise.resolve();
        },
      };
      const { scheduled_id } = valueOf(await readScheduled(engine, host, TENANT, record.id));
      await showSchedules(engine, host, TENANT, {});
      assert.deepEqual([scheduled_id, turns], [record.id, 2 * expected]);
      const none = await readScheduled(engine, host, TENANT, "x".repeat(65));
      assert.equal(refusalOf(none).kind, "not_found");
    });
  });
}
