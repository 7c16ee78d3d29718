/** Pages of the feed: order, cursors, filters, and where a page ends. */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { FeedEntry, FeedPage, FeedRequest } from "../../../src/domain/feed/page.ts";
import {
  BEFORE_EVERYTHING,
  FEED_START,
  type FeedPosition,
  formatCursor,
} from "../../../src/domain/feed/place.ts";
import { limits } from "../../../src/domain/limits.ts";
import type { Tenant } from "../../../src/domain/tenant.ts";
import { readFeedPage } from "../../../src/features/feed/read_feed.ts";
import type { Bytes, ReadTransaction } from "../../../src/kv/engine.ts";
import type { Service } from "../../../src/features/service.ts";
import { reactiveSpec, setOffAll, write } from "../../support/reactive_spec.ts";
import {
  ACTOR,
  noteWrite,
  orderWrite,
  refusalOf,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";

async function pageOf(
  service: Service,
  tenant: Tenant,
  request: Partial<FeedRequest> = {},
): Promise<FeedPage> {
  return valueOf(await service.feed.readPage(tenant, { from: "start", limit: 100, ...request }));
}

/** Follows `next` until nothing is left. */
async function readOn(
  service: Service,
  tenant: Tenant,
  request: Partial<FeedRequest> = {},
): Promise<FeedPage[]> {
  const pages: FeedPage[] = [];
  let from = request.from ?? "start";
  for (;;) {
    const page = await pageOf(service, tenant, { ...request, from });
    pages.push(page);
    from = page.next;
    if (page.isUpToDate) return pages;
  }
}

function namesOf(entries: readonly FeedEntry[]): string[] {
  return entries.map(({ key, id }) => `${key} ${Number(id)}`);
}

Deno.test("an empty feed has a cursor, from which the first event is found", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    for (const from of ["start", "now"]) {
      const page = await pageOf(service, test, { from });
      assert.deepEqual([page.entries, page.erased, page.isUpToDate, page.isBuilding], [
        [],
        [],
        true,
        false,
      ]);
      valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), from)));
      const { entries } = await pageOf(service, test, { from: page.next });
      assert.deepEqual(entries.map(({ raw }) => JSON.parse(raw).data.text).at(-1), from);
    }
  });
});

Deno.test("the cursor stays the same while nothing is new", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "a")));
    const { entries, next } = await pageOf(service, test);
    assert.equal(next, entries.at(-1)!.cursor);
    assert.equal((await pageOf(service, test, { from: next })).next, next);
  });
});

Deno.test("from=now gives nothing that is there, and everything that comes", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "before")));
    const { entries, next } = await pageOf(service, test, { from: "now" });
    assert.deepEqual(entries, []);
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "after")));
    const after = await pageOf(service, test, { from: next });
    assert.deepEqual(namesOf(after.entries), [`order:${uuid(1)} 1`]);
  });
});

Deno.test("events of one atomic write are next to each other, in the order of the request", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const ids = [3, 1, 2].map(uuid);
    const events = [1, 2].map((n) => ({ type: "was_noted", data: { text: `${n}` } }));
    valueOf(
      await service.data.writeEvents(test, {
        form: "atomic",
        targets: ids.map((id) => ({ aggregateType: "order", id, events })),
        metadata: { actor: ACTOR },
        requestId: "request-1",
      }),
    );
    const { entries } = await pageOf(service, test);
    assert.deepEqual(
      namesOf(entries),
      ids.flatMap((id) => [`order:${id} 0`, `order:${id} 1`]),
    );
  });
});

Deno.test("implied events follow what implied them", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const events = [1, 2].map(() => ({ type: "was_placed", data: {} }));
    await write(service, test, setOffAll(uuid(1), events));
    const names = namesOf((await pageOf(service, test)).entries);
    assert.deepEqual(names.slice(0, 2), [`order:${uuid(1)} 0`, `order:${uuid(1)} 1`]);
    assert.deepEqual(names.slice(2), [`ledger:${uuid(1)} 0`, `ledger:${uuid(1)} 1`]);
  }, { spec: reactiveSpec });
});

Deno.test("an entry is what the listing of its stream has", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    for (const text of ["a", "Größe ☃"]) {
      valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), text)));
    }
    const { entries } = await pageOf(service, test);
    const listing = valueOf(
      await service.data.readEvents(test, {
        aggregateType: "order",
        id: uuid(1),
        direction: "forwards",
      }),
    );
    assert.deepEqual(
      entries.map(({ id, hash, raw }) => ({ id, hash, raw })),
      listing.entries.map(({ id, hash, raw }) => ({ id, hash, raw })),
    );
  });
});

Deno.test("pages of any size, from any cursor, give the same events in the same order", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    for (let n = 0; n < 12; n++) {
      const count = n % 4 === 3 ? 40 : 1 + n % 3;
      const events = Array.from({ length: count }, (_, at) => ({
        type: "was_noted",
        data: { text: `${n} ${at}` },
      }));
      valueOf(await service.data.writeEvents(test, orderWrite(uuid(n % 5), events)));
    }
    const { entries: all } = await pageOf(service, test, { limit: limits.feedPageMax });
    const cursors = all.map(({ cursor }) => cursor);
    assert.deepEqual(cursors, cursors.toSorted(), "cursors sort bytewise in feed order");
    assert.equal(new Set(cursors).size, all.length);
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 50 }),
        fc.nat({ max: all.length - 1 }),
        async (limit, at) => {
          const pages = await readOn(service, test, { limit, from: all[at]!.cursor });
          assert.deepEqual(pages.flatMap(({ entries }) => entries), all.slice(at + 1));
          assert.ok(pages.every(({ entries }) => entries.length <= limit));
        },
      ),
      { numRuns: 60 },
    );
  });
});

Deno.test("a filter lets through what it names, and the cursor passes over the rest", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    await write(
      service,
      test,
      setOffAll(uuid(1), [{ type: "was_placed", data: {} }, { type: "was_paid", data: {} }]),
    );
    const typesFor = async (types: string) =>
      (await pageOf(service, test, { types })).entries.map(({ key, raw }) =>
        `${key.split(":")[0]}.${JSON.parse(raw).type}`
      );
    const all = ["order.was_placed", "order.was_paid", "ledger.was_noted"];
    assert.deepEqual(await typesFor("order"), all.slice(0, 2));
    assert.deepEqual(await typesFor("order.*,ledger"), all);
    assert.deepEqual(await typesFor("ledger.was_noted,order.was_paid"), all.slice(1));
    assert.deepEqual(await typesFor("order.was_paid,order"), all.slice(0, 2));
    assert.deepEqual(await typesFor("order,order.was_paid"), all.slice(0, 2));
    const nothing = await pageOf(service, test, { types: "ledger.was_counted" });
    assert.deepEqual([nothing.entries, nothing.isUpToDate], [[], true]);
    const { entries } = await pageOf(service, test, { from: nothing.next });
    assert.deepEqual(entries, [], "nothing is behind it");
  }, { spec: reactiveSpec });
});

Deno.test("a filter passes over commits of other types, and its cursor does too", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    await write(service, test, setOffAll(uuid(1), [{ type: "was_placed", data: {} }]));
    for (const n of [2, 3]) {
      await write(service, test, setOffAll(uuid(n), [{ type: "was_paid", data: {} }]));
    }
    const page = await pageOf(service, test, { types: "ledger" });
    assert.deepEqual(namesOf(page.entries), [`ledger:${uuid(1)} 0`]);
    assert.equal(page.isUpToDate, true);
    assert.deepEqual((await pageOf(service, test, { from: page.next })).entries, []);
  }, { spec: reactiveSpec });
});

Deno.test("a page ends early when its filter lets nothing through, and says how far it has come", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const events = Array.from({ length: 10_000 }, () => ({ type: "was_paid", data: {} }));
    await write(service, test, { ...setOffAll(uuid(1), events), form: "batch" });
    await write(service, test, { ...setOffAll(uuid(2), events), form: "batch" });
    await write(service, test, setOffAll(uuid(3), [{ type: "was_placed", data: {} }]));
    const pages = await readOn(service, test, { types: "order.was_placed", limit: 1 });
    assert.ok(pages.length > 2, `${pages.length} pages`);
    assert.deepEqual(pages[0]!.entries, []);
    assert.deepEqual(
      namesOf(pages.flatMap(({ entries }) => entries)),
      [`order:${uuid(3)} 0`],
    );
  }, { spec: reactiveSpec });
});

Deno.test("a page has at most four mebibytes, and at least one event", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const data = { text: "x".repeat(90_000) };
    for (let n = 0; n < 60; n++) {
      const events = Array.from({ length: n === 0 ? 61 : 1 }, () => ({ type: "was_paid", data }));
      await write(service, test, setOffAll(uuid(n), events));
    }
    const pages = await readOn(service, test, { limit: limits.feedPageMax });
    const sizes = pages.map(({ entries }) => entries.reduce((sum, { raw }) => sum + raw.length, 0));
    assert.ok(sizes.every((size) => size > 0 && size <= limits.pageBytesMax), `${sizes}`);
    assert.equal(pages.flatMap(({ entries }) => entries).length, 120);
  }, { spec: reactiveSpec });
});

Deno.test("types that the spec does not have are refused, by name", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const messageFor = async (types: string) => {
      const outcome = await service.feed.readPage(test, { from: "start", limit: 1, types });
      const refusal = refusalOf(outcome);
      assert.equal(refusal.kind, "bad_request");
      return (refusal as { message: string }).message;
    };
    assert.match(await messageFor("oder"), /'oder'/);
    assert.match(await messageFor("order.was_plcaed"), /'order' has no event type 'was_plcaed'/);
    assert.match(await messageFor(""), /''/);
    assert.match(await messageFor("order,".repeat(101)), /100/);
  });
});

Deno.test("a cursor of another environment, or none at all, is refused", async () => {
  await withService(async ({ service, tenants: { test, staging } }) => {
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "a")));
    const { next } = await pageOf(service, test);
    assert.match(next, /^[0-9A-Za-z_-]{1,64}$/);
    for (
      const from of [(await pageOf(service, staging)).next, "", "x", next.slice(1), `${next}0`]
    ) {
      const outcome = await service.feed.readPage(test, { from, limit: 1 });
      assert.equal(refusalOf(outcome).kind, "bad_request", from);
    }
  });
});

Deno.test("a cursor from beyond the end of the log has expired, and the newest one is given", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "a")));
    const { next } = await pageOf(service, test);
    // As if a store was restored that had less than the client has seen.
    const beyond = `${next.slice(0, 4)}ff${next.slice(6)}`;
    const refusal = refusalOf(await service.feed.readPage(test, { from: beyond, limit: 1 }));
    assert.equal(refusal.kind, "cursor_expired");
    const { newest } = refusal as { newest: string };
    assert.deepEqual((await pageOf(service, test, { from: newest })).entries, []);
  });
});

Deno.test("a page that is to end at a place has nothing behind it, and is up to date there", async () => {
  await withService(async ({ service, engine, host, tenants: { test } }) => {
    for (const text of ["a", "b", "c"]) {
      valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), text)));
    }
    const { entries } = await pageOf(service, test);
    const places = entries.map(({ cursor }) => cursor.slice(0, FEED_START.length));
    const read = (after: FeedPosition, until: string) =>
      engine.snapshot((tx) => {
        const page = { after, until, filter: undefined, limit: 100, bytesMax: 1_000, check: "0" };
        return readFeedPage(tx, host, test.number, page);
      });
    const first = await read(BEFORE_EVERYTHING, places[1]!);
    assert.deepEqual(namesOf(first.entries), namesOf(entries.slice(0, 2)));
    assert.equal(first.isUpToDate, true);
    // A reader who is further than the place gets nothing, and does not go back.
    const after = { place: places[2]!, offset: 0 };
    const none = await read(after, places[1]!);
    assert.deepEqual([none.entries, none.isUpToDate], [[], true]);
    assert.equal(none.next, formatCursor(after, "0"));
  });
});

Deno.test("a page is not up to date while records that were read with it are left", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    for (const text of ["a", "b", "c"]) {
      valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), text)));
    }
    const pages = await readOn(service, test, { limit: 2 });
    assert.deepEqual(pages.map(({ entries }) => entries.length), [2, 1]);
    assert.deepEqual(pages.map(({ isUpToDate }) => isUpToDate), [false, true]);
  });
});

Deno.test("a page of large events reads one stream after another, and none beyond its room", async () => {
  await withService(async ({ service, engine, host, tenants: { test } }) => {
    const data = { text: "x".repeat(30_000) };
    for (let n = 0; n < 40; n++) {
      await write(service, test, setOffAll(uuid(n), [{ type: "was_paid", data }]));
    }
    async function readBytes(isRemote: boolean): Promise<number> {
      let bytes = 0;
      const page = {
        after: BEFORE_EVERYTHING,
        filter: undefined,
        limit: 1_000,
        bytesMax: 64 * 1024,
        check: "0",
        isRemote,
      };
      await engine.snapshot(async (tx) => {
        async function get(key: Bytes) {
          const value = await tx.get(key);
          bytes += value?.length ?? 0;
          return value;
        }
        const counted: ReadTransaction = {
          get,
          getRange: tx.getRange.bind(tx),
          readVersion: tx.readVersion.bind(tx),
        };
        const { entries } = await readFeedPage(counted, host, test.number, page);
        assert.equal(entries.length, 2);
      });
      return bytes;
    }
    // Two of them fit, and the third shows that.
    assert.ok(await readBytes(false) < 4 * 30_000, `${await readBytes(false)}`);
    assert.ok(await readBytes(true) > 30 * 30_000, "on a network many are read at once");
  }, { spec: reactiveSpec });
});
