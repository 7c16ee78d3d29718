/**
 * `nearby` against a real store: it finds what measuring every van's last point finds. This
 * holds whatever the vans did before. See docs/reference/geo.md.
 */

import assert from "node:assert/strict";
import { createRandom } from "../../crash/random.ts";
import { assertNearest, geoWorld, nearby, type Spot } from "../../support/geo_oracle.ts";
import { geoSpec, geoWrite, nearbyVans, seen } from "../../support/geo_spec.ts";
import {
  refusalOf,
  type ServiceFixture,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";

/** Fewer on a cluster, where each query waits for replies. */
const QUERIES = Number(Deno.env.get("NEARBY_QUERIES") ?? 10_000);
const WORLDS = 10;
const VANS = 150;

async function drive(
  { service, tenants: { test } }: ServiceFixture,
  seed: number,
  vans: Map<string, Spot>,
) {
  const random = createRandom(seed);
  const world = geoWorld(random);
  const centre = world.spot();
  for (let move = 0; move < 2 * VANS; move++) {
    const id = uuid(1 + random.below(VANS));
    const spots = Array.from(
      { length: 1 + random.below(3) },
      () =>
        vans.size > 0 && random.chance(0.2) ? random.pick([...vans.values()]) : world.near(centre),
    );
    const events = [...spots.map(seen), { type: "was_washed", data: {} }];
    valueOf(await service.data.writeEvents(test, geoWrite("van", id, events)));
    vans.set(id, spots.at(-1)!);
  }
  return { random, world, centre };
}

Deno.test(`findNearby() finds what measuring finds, in ${QUERIES} random queries`, async () => {
  await withService(async (fixture) => {
    const { service, tenants: { test } } = fixture;
    const vans = new Map<string, Spot>();
    let found = 0;
    for (let seed = 1; seed <= WORLDS; seed++) {
      const { random, world, centre } = await drive(fixture, seed, vans);
      const spots = [...vans].map(([id, spot]) => ({ id, ...spot }));
      for (let query = 0; query < QUERIES / WORLDS; query++) {
        const from = random.chance(0.3) ? random.pick(spots) : world.near(centre);
        const radius = world.radius();
        const limit = 1 + random.below(60);
        const page = await nearbyVans(service, test, from, { radius, limit });
        assertNearest(page.entries, page.truncated, nearby(spots, from, radius), limit);
        for (const { id, point } of page.entries) {
          const { lat, lng } = vans.get(id)!;
          assert.deepEqual(point, { lat, lng });
        }
        found += page.entries.length;
      }
    }
    assert.ok(found > QUERIES, `${found} found`);
  }, { spec: geoSpec });
});

Deno.test("findNearby() finds each kind of id, singletons too, and only of its type", async () => {
  await withService(async ({ service, tenants: { test, staging } }) => {
    const ids = [uuid(1), `${uuid(1)}:a`, "4F7K2M9QX", "global", "depot"];
    const at = { lat: 1, lng: 2 };
    for (const id of ids) {
      valueOf(await service.data.writeEvents(test, geoWrite("van", id, [seen(at)])));
    }
    const opened = { type: "was_opened", data: { location: at } };
    valueOf(await service.data.writeEvents(test, geoWrite("shop", uuid(9), [opened])));
    const { entries, limit, truncated, limitClamped } = await nearbyVans(service, test, at);
    assert.deepEqual(entries.map(({ id }) => id), ids.toSorted());
    assert.ok(entries.every(({ distance }) => distance === 0));
    assert.deepEqual([limit, truncated, limitClamped], [50, false, false]);
    const shops = await nearbyVans(service, test, at, { aggregateType: "shop" });
    assert.deepEqual(shops.entries.map(({ id }) => id), [uuid(9)]);
    assert.deepEqual((await nearbyVans(service, staging, at)).entries, []);
  }, { spec: geoSpec });
});

Deno.test("findNearby() clamps the limit to 200 and tells what it has left out", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const at = { lat: -33.9, lng: 151.2 };
    const vans = Array.from({ length: 201 }, (_, number) => uuid(number));
    for (const id of vans) {
      valueOf(await service.data.writeEvents(test, geoWrite("van", id, [seen(at)])));
    }
    const clamped = await nearbyVans(service, test, at, { limit: 201 });
    assert.deepEqual([clamped.limit, clamped.limitClamped, clamped.truncated], [200, true, true]);
    assert.deepEqual(clamped.entries.map(({ id }) => id), vans.slice(0, 200));
    const page = await nearbyVans(service, test, at, { limit: 200 });
    assert.deepEqual([page.limit, page.limitClamped, page.truncated], [200, false, true]);
  }, { spec: geoSpec });
});

Deno.test("findNearby() refuses unknown types, and types of which no event has a point", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const request = { point: { lat: 0, lng: 0 }, radius: 1_000 };
    const find = async (aggregateType: string) =>
      refusalOf(await service.data.findNearby(test, { aggregateType, ...request }));
    assert.equal((await find("ship")).kind, "aggregate_type_unknown");
    assert.deepEqual(await find("note"), {
      kind: "not_found",
      message: "Aggregate type 'note' has no geo attachment in spec",
    });
  }, { spec: geoSpec });
});
