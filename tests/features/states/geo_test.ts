/**
 * Points of events through the whole service: every way of writing stores and indexes them.
 * This happens in the write's own transaction, through races, lost replies and redeploys. See
 * docs/reference/geo.md.
 */

import assert from "node:assert/strict";
import type { StoredEvent } from "../../../src/domain/event.ts";
import type { JsonObject } from "../../../src/domain/json.ts";
import type { Tenant } from "../../../src/domain/tenant.ts";
import { checkStore } from "../../../src/features/checks/check_store.ts";
import type { Service } from "../../../src/features/service.ts";
import { faultyEngine } from "../../support/faulty_engine.ts";
import { geoSpec, geoWrite, nearbyVans, seen } from "../../support/geo_spec.ts";
import { drain, eventsOf } from "../../support/reactive_spec.ts";
import {
  ACTOR,
  refusalOf,
  type ServiceFixture,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";

const BERLIN = { lat: 52.52, lng: 13.405 };
const POTSDAM = { lat: 52.3906, lng: 13.0645 };
const SYDNEY = { lat: -33.8688, lng: 151.2093 };
const STAMP = { type: "place", ...BERLIN };
const VAN = uuid(1);

async function lastEvent(service: Service, tenant: Tenant, type = "van"): Promise<StoredEvent> {
  return (await eventsOf(service, tenant, type, VAN)).at(-1)!;
}

async function assertAt(
  { service, engine, tenants: { test } }: ServiceFixture,
  at: typeof BERLIN | undefined,
) {
  for (const place of [BERLIN, POTSDAM, SYDNEY]) {
    const { entries } = await nearbyVans(service, test, place, { radius: 10 });
    const expected = place === at ? [{ id: VAN, distance: 0, point: place }] : [];
    assert.deepEqual(entries, expected);
  }
  assert.deepEqual((await checkStore(engine, true)).faults, []);
}

interface Way {
  readonly name: string;
  readonly isDirect?: boolean;
  write(fixture: ServiceFixture): Promise<void>;
  /** The stamps of the van's last event, besides what every event has. */
  readonly stamps: readonly string[];
}

const TRIP = { van: VAN, location: BERLIN };

/** `direct` is how many events are written in the transaction of the trip. */
function trip(type: string, direct?: number) {
  return async ({ service, tenants: { test } }: ServiceFixture) => {
    const request = geoWrite("trip", uuid(2), [{ type, data: TRIP }]);
    assert.equal(valueOf(await service.data.writeEvents(test, request)).direct, direct);
    await drain(service);
  };
}

const ways: readonly Way[] = [
  {
    name: "a single write",
    async write({ service, tenants: { test } }) {
      valueOf(await service.data.writeEvents(test, geoWrite("van", VAN, [seen(BERLIN)])));
    },
    stamps: ["geo"],
  },
  {
    name: "a guarded write with an idempotency key",
    async write({ service, tenants: { test } }) {
      const metadata = { actor: ACTOR, previous_length: 0 };
      const idempotency = { key: "k", bodyHash: "00" };
      const request = geoWrite("van", VAN, [seen(BERLIN)], { metadata, idempotency });
      valueOf(await service.data.writeEvents(test, request));
      valueOf(await service.data.writeEvents(test, request));
      assert.equal((await eventsOf(service, test, "van", VAN)).length, 1);
    },
    stamps: ["previous_length", "idempotency_key", "geo"],
  },
  {
    name: "a batch, of which the last point counts",
    async write({ service, tenants: { test } }) {
      const events = [seen(SYDNEY), { type: "was_washed", data: {} }, seen(POTSDAM), seen(BERLIN)];
      valueOf(await service.data.writeEvents(test, geoWrite("van", VAN, events)));
    },
    stamps: ["geo"],
  },
  {
    name: "an atomic write",
    async write({ service, tenants: { test } }) {
      const targets = [
        { aggregateType: "shop", id: VAN, events: [{ type: "was_opened", data: {} }] },
        { aggregateType: "van", id: VAN, events: [seen(SYDNEY), seen(BERLIN)] },
      ];
      const request = geoWrite("van", VAN, [], { form: "atomic", targets });
      valueOf(await service.data.writeEvents(test, request));
    },
    stamps: ["geo"],
  },
  {
    name: "an implied event, written with its trigger",
    write: trip("was_ended", 1),
    stamps: ["implied_by", "geo"],
  },
  {
    name: "an implied event, from the outbox",
    isDirect: false,
    write: trip("was_ended"),
    stamps: ["implied_by", "geo"],
  },
  {
    name: "a scheduled event",
    async write(fixture) {
      await trip("was_planned")(fixture);
      fixture.host.timeMs += 60_000;
      await drain(fixture.service);
    },
    stamps: ["scheduled", "geo"],
  },
  { name: "an event of a saga", write: trip("was_ordered"), stamps: ["implied_by", "geo", "saga"] },
];

for (const { name, isDirect, write, stamps } of ways) {
  Deno.test(`${name} stores metadata.geo and is found at its point`, async () => {
    await withService(async (fixture) => {
      const { service, tenants: { test } } = fixture;
      await write(fixture);
      const { metadata } = await lastEvent(service, test);
      assert.equal(JSON.stringify(metadata.geo), JSON.stringify(STAMP));
      const usual = ["actor", "target", "timestamp"];
      assert.deepEqual(Object.keys(metadata).filter((key) => !usual.includes(key)), stamps);
      await assertAt(fixture, BERLIN);
    }, { spec: geoSpec, isDirect });
  });
}

Deno.test("an aggregate is found at its newest point only, whatever follows without one", async () => {
  await withService(async (fixture) => {
    const { service, tenants: { test } } = fixture;
    for (const at of [BERLIN, SYDNEY, SYDNEY, POTSDAM]) {
      valueOf(await service.data.writeEvents(test, geoWrite("van", VAN, [seen(at)])));
      await assertAt(fixture, at);
    }
    const events = [
      { type: "was_washed", data: { location: BERLIN } },
      { type: "was_seen", data: {} },
      { type: "was_seen", data: { location: null } },
    ];
    valueOf(await service.data.writeEvents(test, geoWrite("van", VAN, events)));
    await assertAt(fixture, POTSDAM);
    assert.equal((await lastEvent(service, test)).metadata.geo, undefined);
  }, { spec: geoSpec });
});

Deno.test("a bad point refuses the write as a whole, with its path and place", async () => {
  await withService(async (fixture) => {
    const { service, tenants: { test } } = fixture;
    const bad = seen({ lat: 91, lng: 0 });
    const single = refusalOf(await service.data.writeEvents(test, geoWrite("van", VAN, [bad])));
    const message = "must be a latitude, a number from -90 to 90";
    const faults = [{ path: "data.location.lat", message }];
    assert.deepEqual(single, { kind: "schema_validation", faults });
    const batch = geoWrite("van", VAN, [seen(BERLIN), bad]);
    const refused = refusalOf(await service.data.writeEvents(test, batch));
    assert.deepEqual(refused, { kind: "schema_validation", faults, eventIndex: 1 });
    await assertAt(fixture, undefined);
  }, { spec: geoSpec });
});

Deno.test("an implied event with a bad point becomes an error record, and its trigger stays", async () => {
  for (const isDirect of [true, false]) {
    await withService(async (fixture) => {
      const { service, tenants: { test } } = fixture;
      const data = { van: VAN, location: { lat: 1, lng: 999 } };
      const request = geoWrite("trip", uuid(2), [{ type: "was_ended", data }]);
      valueOf(await service.data.writeEvents(test, request));
      await drain(service);
      const { data: records } = valueOf(await service.data.listErrors(test, {}));
      assert.equal(records.length, 1);
      assert.match(records[0]!.message, /data\.location\.lng: must be a longitude/);
      await assertAt(fixture, undefined);
    }, { spec: geoSpec, isDirect });
  }
});

for (const landed of [false, true]) {
  Deno.test(`a van is at one point when replies of commits are lost (landed: ${landed})`, async () => {
    await withService(async (fixture) => {
      const { service, tenants: { test } } = fixture;
      for (const at of [BERLIN, SYDNEY, POTSDAM]) {
        valueOf(await service.data.writeEvents(test, geoWrite("van", VAN, [seen(at)])));
        await assertAt(fixture, at);
      }
      assert.equal((await eventsOf(service, test, "van", VAN)).length, 3);
    }, {
      spec: geoSpec,
      wrap: (inner) =>
        faultyEngine(
          inner,
          (commit) => commit % 2 === 0 ? { kind: "lose_reply", landed } : undefined,
        ),
    });
  });
}

Deno.test("writers that race for vans leave each at the point of its last event", async () => {
  await withService(async (fixture) => {
    const { service, engine, tenants: { test } } = fixture;
    const vans = Array.from({ length: 8 }, (_, number) => uuid(number));
    const writes = Array.from({ length: 200 }, (_, number) => {
      const at = { lat: BERLIN.lat + number / 10_000, lng: BERLIN.lng };
      return service.data.writeEvents(test, geoWrite("van", vans[number % 8]!, [seen(at)]));
    });
    for (const outcome of await Promise.all(writes)) valueOf(outcome);
    const { entries } = await nearbyVans(service, test, BERLIN);
    assert.equal(entries.length, 8);
    for (const { id, point } of entries) {
      const { metadata: { geo } } = (await eventsOf(service, test, "van", id)).at(-1)!;
      assert.deepEqual({ type: "place", ...point }, geo);
    }
    assert.deepEqual((await checkStore(engine, true)).faults, []);
  }, {
    spec: geoSpec,
    wrap: (inner) =>
      faultyEngine(
        inner,
        (commit) => commit % 5 === 1 ? { kind: "conflict", times: 2 } : undefined,
      ),
  });
});

/** Each answer shows one moment, so a van is never at two points, or at none. */
Deno.test("a van that moves is at exactly one of its points in every answer", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const spots = [BERLIN, POTSDAM];
    valueOf(await service.data.writeEvents(test, geoWrite("van", VAN, [seen(BERLIN)])));
    let isOver = false;
    async function move() {
      for (let turn = 1; turn <= 60; turn++) {
        const request = geoWrite("van", VAN, [seen(spots[turn % 2]!)]);
        valueOf(await service.data.writeEvents(test, request));
      }
      isOver = true;
    }
    async function watch() {
      let answers = 0;
      while (!isOver && answers < 5_000) {
        const { entries } = await nearbyVans(service, test, BERLIN);
        assert.deepEqual(entries.map(({ id }) => id), [VAN]);
        answers++;
      }
      assert.ok(answers > 0);
    }
    await Promise.all([move(), watch()]);
  }, { spec: geoSpec });
});

async function deploy({ service, tenants: { test } }: ServiceFixture, spec: JsonObject) {
  return valueOf(await service.specs.deploySpec(test, { spec, force: false, dryRun: false }));
}

/** The spec with another `geo` of `was_seen` and another geo type. */
function changed(geo: JsonObject | undefined, properties: readonly string[]): JsonObject {
  const spec = structuredClone(geoSpec);
  const types = spec.aggregate_types as Record<string, { events: Record<string, JsonObject> }>;
  const { was_seen: event, was_towed: towed } = types.van!.events;
  for (const each of [event!, towed!]) {
    delete each.geo;
    if (geo !== undefined) each.geo = geo;
  }
  spec.geo_types = { place: { type: "point", properties: [...properties] } };
  return spec;
}

const GEO = { type: "place", path: "$.data.location" };

Deno.test("a redeploy leaves points as their events have stored them", async () => {
  await withService(async (fixture) => {
    const { service, tenants: { test } } = fixture;
    const write = async (data: JsonObject) => {
      const request = geoWrite("van", VAN, [{ type: "was_seen", data }]);
      return await service.data.writeEvents(test, request);
    };
    const request = { aggregateType: "van", point: BERLIN, radius: 10 };

    await deploy(fixture, changed(undefined, ["lat", "lng"]));
    valueOf(await write({ location: BERLIN }));
    assert.equal(refusalOf(await service.data.findNearby(test, request)).kind, "not_found");

    await deploy(fixture, changed(GEO, ["lat", "lng"]));
    await assertAt(fixture, undefined);
    valueOf(await write({ location: BERLIN }));
    await assertAt(fixture, BERLIN);

    await deploy(fixture, changed({ ...GEO, path: "$.data.at" }, ["y", "x"]));
    await assertAt(fixture, BERLIN);
    assert.equal(refusalOf(await write({ at: BERLIN })).kind, "schema_validation");
    valueOf(await write({ at: { y: SYDNEY.lat, x: SYDNEY.lng }, location: BERLIN }));
    await assertAt(fixture, SYDNEY);

    await deploy(fixture, changed(undefined, ["lat", "lng"]));
    assert.equal(refusalOf(await service.data.findNearby(test, request)).kind, "not_found");
    valueOf(await write({ location: POTSDAM }));

    await deploy(fixture, changed(GEO, ["lat", "lng"]));
    await assertAt(fixture, SYDNEY);
  }, { spec: geoSpec });
});
