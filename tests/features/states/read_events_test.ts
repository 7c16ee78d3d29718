/** `GET .../events`, every rule, against a plain list. See docs/reference/reading.md. */

import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { eventId } from "../../../src/domain/event.ts";
import type { EventPage, ReadEventsRequest } from "../../../src/domain/reading.ts";
import type { Tenant } from "../../../src/domain/tenant.ts";
import type { Service } from "../../../src/features/service.ts";
import {
  orderWrite,
  refusalOf,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";

async function page(
  service: Service,
  tenant: Tenant,
  change: Partial<ReadEventsRequest> = {},
): Promise<EventPage> {
  const request = { aggregateType: "order", id: uuid(1), direction: "forwards" as const };
  return valueOf(await service.data.readEvents(tenant, { ...request, ...change }));
}

async function fill(service: Service, tenant: Tenant, count: number, characters = 1) {
  const event = { type: "was_viewed", data: { fill: "x".repeat(characters) } };
  for (let left = count; left > 0; left -= 60) {
    const events = Array.from({ length: Math.min(60, left) }, () => event);
    valueOf(await service.data.writeEvents(tenant, orderWrite(uuid(1), events)));
  }
}

function indexes({ entries }: EventPage): number[] {
  return entries.map(({ id }) => Number(id));
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index);
}

Deno.test("readEvents() of an id without events is an empty page", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    for (const direction of ["forwards", "backwards"] as const) {
      const empty = await page(service, test, { direction });
      assert.deepEqual([empty.entries, empty.truncated, empty.nextStart], [[], false, undefined]);
    }
  });
});

Deno.test("readEvents() gives each window of a stream, in both directions, exactly truncated", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const length = 9;
    await fill(service, test, length);
    for (let start = -1; start <= length + 1; start++) {
      for (let count = 1; count <= length + 1; count++) {
        const at = start === -1 ? undefined : eventId(start);
        const forwards = await page(service, test, { start: at, count });
        const from = Math.min(start + 1, length);
        const to = Math.min(length, from + count);
        assert.deepEqual(indexes(forwards), range(from, to));
        assert.equal(forwards.truncated, to < length && to > from);
        const backwards = await page(service, test, { start: at, count, direction: "backwards" });
        const end = start === -1 ? length : Math.min(start, length);
        const begin = Math.max(0, end - count);
        assert.deepEqual(indexes(backwards), range(begin, end));
        assert.equal(backwards.truncated, begin > 0 && end > begin);
      }
    }
  });
});

Deno.test("readEvents() leads through the whole stream by next_start, in both directions", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    await fill(service, test, 23);
    for (const direction of ["forwards", "backwards"] as const) {
      const found: number[] = [];
      let start: string | undefined;
      for (let pages = 0; pages < 30; pages++) {
        const next = await page(service, test, { direction, start, count: 4 });
        if (direction === "forwards") found.push(...indexes(next));
        else found.unshift(...indexes(next));
        assert.equal(next.truncatedBy, next.truncated ? "count" : undefined);
        start = next.nextStart;
        if (start === undefined) break;
      }
      assert.deepEqual(found, range(0, 23));
    }
  });
});

Deno.test("readEvents() pages 500 by default and clamps a larger count than 5,000", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    await fill(service, test, 501);
    const usual = await page(service, test);
    assert.deepEqual(
      [usual.entries.length, usual.countLimit, usual.countClamped, usual.truncated],
      [500, 500, false, true],
    );
    const clamped = await page(service, test, { count: 5_001 });
    assert.deepEqual([clamped.countLimit, clamped.countClamped], [5_000, true]);
    const largest = await page(service, test, { count: 5_000 });
    assert.deepEqual([largest.countLimit, largest.countClamped], [5_000, false]);
  });
});

Deno.test("readEvents() ends a page at 4 MB and says that bytes bound it", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    await fill(service, test, 50, 100_000);
    for (const direction of ["forwards", "backwards"] as const) {
      const bound = await page(service, test, { direction });
      assert.equal(bound.truncatedBy, "bytes");
      const bytes = bound.entries.reduce((sum, { raw }) => sum + raw.length, 0);
      assert.ok(bytes <= 4 * 1024 * 1024 && bytes > 4 * 1024 * 1024 - 110_000);
      const rest = await page(service, test, { direction, start: bound.nextStart });
      assert.equal(bound.entries.length + rest.entries.length, 50);
      assert.equal(rest.truncated, false);
    }
  });
});

Deno.test("readEvents() gives bytes that verify against the chain across pages", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    await fill(service, test, 130);
    let tip = "";
    let start: string | undefined;
    do {
      const next = await page(service, test, { start, count: 50 });
      for (const entry of next.entries) {
        tip = hash("sha256", tip + entry.raw, "hex");
        assert.equal(entry.hash, tip);
      }
      start = next.nextStart;
    } while (start !== undefined);
  });
});

Deno.test("readEvents() refuses a start that is no event id", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    for (const start of ["", "7", "x".repeat(12), "0000000000000"]) {
      const request = {
        aggregateType: "order",
        id: uuid(1),
        direction: "forwards",
        start,
      } as const;
      const refusal = refusalOf(await service.data.readEvents(test, request));
      assert.equal(refusal.kind, "bad_request");
      assert.equal("path" in refusal && refusal.path, "start");
    }
  });
});

Deno.test("readEvents() refuses an unknown type and a malformed id", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const request = { aggregateType: "parcel", id: uuid(1), direction: "forwards" as const };
    const type = refusalOf(await service.data.readEvents(test, request));
    assert.equal(type.kind, "aggregate_type_unknown");
    const malformed = { ...request, aggregateType: "order", id: "7" };
    const id = refusalOf(await service.data.readEvents(test, malformed));
    assert.equal(id.kind, "identifier_invalid");
  });
});
