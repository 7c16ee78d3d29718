/** What is new in one stream. */

import assert from "node:assert/strict";
import { eventId } from "../../../src/domain/event.ts";
import { erase } from "../../support/erasure_fixtures.ts";
import { noteWrite, uuid, valueOf, withService } from "../../support/service_fixture.ts";

const NAME = { aggregateType: "order", id: uuid(1) };

Deno.test("a tail is read from any event on, up to a number of events and of bytes", () =>
  withService(async ({ service, tenants: { test } }) => {
    for (const text of ["a", "b", "c"]) {
      valueOf(await service.data.writeEvents(test, noteWrite(NAME.id, text)));
    }
    for (const from of [0, 1, 2, 3, 4]) {
      for (const limit of [0, 1, 2, 3]) {
        const start = from === 0 ? undefined : eventId(from - 1);
        const request = { ...NAME, start, limit, bytesMax: 1_000_000 };
        const page = valueOf(await service.feed.readTail(test, request));
        const ids = [0, 1, 2].slice(from, from + limit).map(eventId);
        assert.deepEqual(page.entries.map(({ id }) => id), ids);
        assert.equal(page.isUpToDate, from + limit >= 3);
        assert.equal(page.length, 3);
      }
    }
    const small = { ...NAME, start: undefined, limit: 3, bytesMax: 1 };
    const page = valueOf(await service.feed.readTail(test, small));
    assert.deepEqual([page.entries.length, page.isUpToDate], [1, false]);
  }));

Deno.test("the generation of a tail grows with each erasure", () =>
  withService(async (world) => {
    const { service, tenants: { test } } = world;
    const request = { ...NAME, start: undefined, limit: 0, bytesMax: 0 };
    const generations: number[] = [];
    for (const text of ["a", "b"]) {
      valueOf(await service.data.writeEvents(test, noteWrite(NAME.id, text)));
      generations.push(valueOf(await service.feed.readTail(test, request)).generation);
      await erase(world, `order:${NAME.id}`);
    }
    generations.push(valueOf(await service.feed.readTail(test, request)).generation);
    assert.deepEqual(generations, [...new Set(generations)].sort((a, b) => a - b));
  }));
