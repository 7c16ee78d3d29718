/**
 * Imports trigger no implications, sagas or deliveries. Everything derived from events still
 * includes imported ones, and modules judge them as they judge writes. See
 * docs/reference/imports.md.
 */

import assert from "node:assert/strict";
import { streamKey } from "../../../src/domain/identifier.ts";
import { copyOfExampleSpec } from "../../support/example_spec.ts";
import { geoSpec, nearbyVans } from "../../support/geo_spec.ts";
import { fileOf, importRequest, lineOf, makeLines } from "../../support/import_fixtures.ts";
import { readLog, timesSeen } from "../../support/log_reader.ts";
import { noteWrite, uuid, valueOf, withService } from "../../support/service_fixture.ts";
import { seats, withModules } from "../../support/wasm/module_world.ts";

const LINES = makeLines({ events: 40, streams: 4 });

Deno.test("an imported event implies nothing, schedules nothing, cancels nothing and is delivered to nobody", async () => {
  const spec = copyOfExampleSpec();
  // deno-lint-ignore no-explicit-any -- the test adds to a document
  const { events } = (spec as any).aggregate_types.order;
  const seen = { aggregate_type: "inventory", id: "main", event_type: "was_stocked" };
  const emit = { ...seen, data: { by: 1 } };
  const cancel_on = [{ aggregate_type: "order", id: "$.key", event_type: "was_viewed" }];
  events.was_viewed.implications = [{ emit }, { schedule: { delay: "1h", emit } }];
  events.was_noted.implications = [{ schedule: { delay: "1h", emit, cancel_on } }];
  const listeners = {
    crm: { url: "https://example.com/", secret: "0123456789abcdef", events: ["*"] },
  };
  // deno-lint-ignore no-explicit-any -- the test adds to a document
  (spec as any).modules = { ...(spec as any).modules, listeners };
  await withService(async ({ service, tenants: { test } }) => {
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(0), "a")));
    const scheduled = () => service.data.listScheduled(test, {});
    const deliveries = () => service.data.listDeliveries(test, { listener: "crm" });
    const before = [valueOf(await scheduled()), valueOf(await deliveries())];
    assert.deepEqual(before.map((page) => page!.data.length), [1, 1]);
    assert.ok((await service.imports.run(test, importRequest(fileOf(LINES)))).ok);
    assert.deepEqual([valueOf(await scheduled()), valueOf(await deliveries())], before);
    assert.equal(valueOf(await service.data.readLength(test, "inventory", "main")), 0);
    assert.equal(valueOf(await service.data.readLength(test, "order", uuid(0))), 11);
  }, { spec });
});

Deno.test("readers of the log of commits are told of each imported event once", async () => {
  await withService(async ({ service, engine, tenants: { test } }) => {
    assert.ok((await service.imports.run(test, importRequest(fileOf(LINES)))).ok);
    await readLog(engine, test.number);
    for (let stream = 0; stream < 4; stream++) {
      for (let index = 0; index < 10; index++) {
        const key = streamKey("order", uuid(stream));
        assert.equal(await timesSeen(engine, test.number, key, index), 1);
      }
    }
  });
});

Deno.test("an anchor after an import covers its events, whether there was one before or not", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const counts: unknown[] = [];
    for (const [number, form] of (["cold_start", "import_jsonl"] as const).entries()) {
      const request = importRequest(fileOf(LINES), { form, importId: `load-${number}` });
      assert.ok((await service.imports.run(test, request)).ok);
      const { anchor } = await service.audit.makeAnchor(test);
      counts.push([anchor!.event_count, anchor!.stream_count]);
      const at = { aggregateType: "order", id: uuid(3), index: String(number * 10 + 9) };
      assert.ok((await service.audit.attest(test, at)).ok);
    }
    assert.deepEqual(counts, [[40, 4], [80, 4]]);
  });
});

Deno.test("an aggregate is found at the newest point that was imported", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const at = (lat: number) =>
      lineOf(1, { location: { lat, lng: 13 } }).replace("order:", "van:").replace("viewed", "seen");
    const file = fileOf([at(50), at(51), at(51.5)]);
    assert.ok((await service.imports.run(test, importRequest(file))).ok);
    assert.deepEqual((await nearbyVans(service, test, { lat: 50, lng: 13 })).entries, []);
    const [van, ...others] = (await nearbyVans(service, test, { lat: 51.5, lng: 13 })).entries;
    assert.deepEqual([van!.id, van!.distance, others], [uuid(1), 0, []]);
    const nowhere = fileOf([at(51), at(91)]);
    const refused = await service.imports.run(test, importRequest(nowhere, { importId: "2" }));
    assert.ok(!refused.ok && refused.line === 2);
  }, { spec: geoSpec });
});

function bookings(shows: readonly string[]): string {
  const line = lineOf(0, {}).replace("was_viewed", "was_booked");
  return fileOf(shows.map((show) => line.replace(`order:${uuid(0)}`, `show:${show}`)));
}

Deno.test("a handler of a module judges each imported event on the state before it, and its line is named", async () => {
  await withModules({ seats: await seats() }, { was_booked: { wasm: "seats" } }, async (world) => {
    const { service, tenant, write, stateOf } = world;
    valueOf(await write("a", ["was_booked"]));
    const refused = await service.imports.run(
      tenant,
      importRequest(bookings(["b", "a", "b", "a", "b", "a", "c"])),
    );
    assert.ok(!refused.ok && refused.refusal.kind === "handler_error");
    assert.deepEqual([refused.line, refused.progress!.record.written], [6, 0]);
    const taken = await service.imports.run(
      tenant,
      importRequest(bookings(["b", "a", "b", "a", "b", "c"])),
    );
    assert.ok(taken.ok);
    const states = [await stateOf("a", true), await stateOf("b"), await stateOf("c", true)];
    assert.deepEqual(states, [{ n: "aaa" }, { n: "aaa" }, { n: "a" }]);
  });
});

Deno.test("a seat that is booked while an import is judged is not booked twice", async () => {
  await withModules({ seats: await seats() }, { was_booked: { wasm: "seats" } }, async (world) => {
    const { service, tenant, write } = world;
    const outcomes = await Promise.all([
      ...[1, 2, 3].map((number) =>
        service.imports.run(
          tenant,
          importRequest(bookings(["a", "b"]), { importId: `load-${number}` }),
        )
      ),
      ...[1, 2, 3].map(() => write("a", ["was_booked"])),
    ]);
    assert.equal(outcomes.filter(({ ok }) => ok).length, 3);
    assert.equal(valueOf(await service.data.readLength(tenant, "show", "a")), 3);
  });
});
