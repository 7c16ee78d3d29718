/** The search finds the same nearest points as measuring all of them, and reads few points. */

import assert from "node:assert/strict";
import { type GeoPlace, geoPlaceOf, leavesOf } from "../../../src/domain/geo/cells.ts";
import {
  type Found,
  type GeoArea,
  openSearch,
  type Placed,
} from "../../../src/domain/geo/search.ts";
import { createRandom, type Random } from "../../crash/random.ts";
import {
  assertNearest,
  geodesicDistance,
  geoWorld,
  type NamedSpot,
  nearby,
  type Spot,
} from "../../support/geo_oracle.ts";

/** The store's order: by leaf, then by point, then by id. */
function compare(a: Placed, b: Placed): number {
  const keys = ({ id, place: { leaf, lat, lng } }: Placed) => [leaf, lat, lng, id];
  const theirs = keys(b);
  for (const [index, key] of keys(a).entries()) {
    if (key < theirs[index]!) return -1;
    if (key > theirs[index]!) return 1;
  }
  return 0;
}

interface Sorted {
  readonly all: readonly Placed[];
}

function sorted(spots: readonly NamedSpot[]): Sorted {
  return { all: spots.map(({ id, ...spot }) => ({ id, place: geoPlaceOf(spot) })).sort(compare) };
}

function isBehind({ place, id }: Placed, after: NonNullable<GeoArea["after"]>): boolean {
  const last: { place: GeoPlace; id: string } = { place: after.place, id: after.id ?? "\uffff" };
  return compare({ place, id }, last) > 0;
}

function readArea({ all }: Sorted, { cell, after }: GeoArea): Placed[] {
  const { from, to } = leavesOf(cell);
  return all.filter((each) =>
    each.place.leaf >= from && each.place.leaf < to &&
    (after === undefined || isBehind(each, after))
  );
}

interface Searched {
  readonly found: readonly Found[];
  readonly read: number;
  readonly reads: number;
}

function search(
  points: Sorted,
  from: Spot,
  { radius, count, page }: { radius: number; count: number; page: number },
): Searched {
  const state = openSearch(from, radius, count);
  let [read, reads] = [0, 0];
  for (;;) {
    const areas = state.next(3);
    if (areas.length === 0) return { found: state.found, read, reads };
    for (const area of areas) {
      const there = readArea(points, area);
      const some = there.slice(0, page);
      read += some.length;
      reads++;
      state.take(area, some, some.length === there.length);
    }
  }
}

const QUERIES = Number(Deno.env.get("NEARBY_QUERIES") ?? 10_000);
const WORLDS = 100;

/** Spots around one place; some coincide, some are on both sides of the antimeridian. */
function scatter(seed: number, count: number) {
  const random = createRandom(seed);
  const world = geoWorld(random);
  const centre = world.spot();
  const spots: NamedSpot[] = [];
  while (spots.length < count) {
    const again = spots.length > 0 && random.chance(0.2);
    const { lat, lng } = again ? random.pick(spots) : world.near(centre);
    const other = Math.abs(lng) === 180 && random.chance(0.5) ? -lng : lng;
    spots.push({ id: random.uuid(), lat, lng: other });
  }
  return { random, world, centre, spots };
}

Deno.test(`openSearch() finds what measuring all points finds, in ${QUERIES} random queries`, () => {
  let [found, cut, empty] = [0, 0, 0];
  for (let seed = 1; seed <= WORLDS; seed++) {
    const { random, world, centre, spots } = scatter(seed, 60 * (1 + seed % 7));
    const points = sorted(spots);
    for (let query = 0; query < QUERIES / WORLDS; query++) {
      const from = random.chance(0.3) ? random.pick(spots) : world.near(centre);
      const radius = world.radius();
      const limit = 1 + random.below(30);
      const searched = search(points, from, {
        radius,
        count: limit + 1,
        page: limit + 1 + random.below(9),
      });
      const expected = nearby(spots, from, radius);
      assertNearest(searched.found.slice(0, limit), searched.found.length > limit, expected, limit);
      found += Math.min(limit, expected.length);
      if (expected.length > limit) cut++;
      if (expected.length === 0) empty++;
    }
  }
  assert.ok(
    found > QUERIES && cut > QUERIES / 10 && empty > QUERIES / 100,
    `${found} ${cut} ${empty}`,
  );
});

Deno.test("openSearch() agrees with geographiclib, in 600 random queries", () => {
  for (let seed = 1001; seed <= 1030; seed++) {
    const { random, world, centre, spots } = scatter(seed, 100);
    const points = sorted(spots);
    for (let query = 0; query < 20; query++) {
      const from = world.near(centre);
      const radius = world.radius();
      const limit = 1 + random.below(30);
      const { found } = search(points, from, { radius, count: limit + 1, page: 40 });
      const expected = nearby(spots, from, radius, geodesicDistance);
      assertNearest(found.slice(0, limit), found.length > limit, expected, limit);
    }
  }
});

Deno.test("openSearch() sorts equal distances by id, as bytes", () => {
  const ids = ["b", "a", "\u{10000}", "\uffee", "B"];
  const points = sorted(ids.map((id) => ({ id, lat: 0, lng: id < "b" ? 1 : -1 })));
  const { found } = search(points, { lat: 0, lng: 0 }, { radius: 100_000, count: 9, page: 9 });
  assert.deepEqual(found, []);
  const near = sorted(ids.map((id) => ({ id, lat: 0, lng: id < "b" ? 0.5 : -0.5 })));
  const all = search(near, { lat: 0, lng: 0 }, { radius: 100_000, count: 9, page: 9 });
  assert.deepEqual(all.found.map(({ id }) => id), ["B", "a", "b", "\uffee", "\u{10000}"]);
});

Deno.test("openSearch() gives what is exactly at the radius, and nothing beyond it", () => {
  const points = sorted([{ id: "a", lat: 0, lng: 0.001 }]);
  const [{ distance } = { distance: NaN }] = search(points, { lat: 0, lng: 0 }, {
    radius: 1_000,
    count: 2,
    page: 2,
  }).found;
  const reach = (radius: number) =>
    search(points, { lat: 0, lng: 0 }, { radius, count: 2, page: 2 }).found.length;
  assert.equal(reach(distance), 1);
  assert.equal(reach(distance * (1 - 1e-12)), 0);
});

const BERLIN = { lat: 52.52, lng: 13.405 };

function drawn(random: Random, count: number, place: () => Spot): NamedSpot[] {
  return Array.from({ length: count }, () => ({ id: random.uuid(), ...place() }));
}

Deno.test("openSearch() reads few of very many: at one point, in one leaf, in a town", () => {
  const random = createRandom(5);
  const options = { radius: 1_000, count: 201, page: 64 };
  const beside = (degrees: number) => () => ({
    lat: BERLIN.lat + random.next() * degrees,
    lng: BERLIN.lng + random.next() * degrees,
  });
  const onePoint = search(sorted(drawn(random, 20_000, () => BERLIN)), BERLIN, options);
  assert.equal(onePoint.found.length, 201);
  assert.ok(onePoint.read <= 5 * 64, `${onePoint.read} of one point`);
  const town = search(sorted(drawn(random, 20_000, beside(0.01))), BERLIN, options);
  assert.equal(town.found.length, 201);
  assert.ok(town.read <= 1_000, `${town.read} of a town`);
  const inLeaf = search(sorted(drawn(random, 5_000, beside(1e-9))), BERLIN, options);
  assert.equal(inLeaf.found.length, 201);
  assert.ok(inLeaf.reads < 100, `${inLeaf.reads} reads of a leaf`);
});

Deno.test("openSearch() does not look for the far in pieces as small as the near ones", () => {
  const random = createRandom(6);
  const world = geoWorld(random);
  const near = drawn(
    random,
    100,
    () => ({ lat: BERLIN.lat + random.next() * 1e-5, lng: BERLIN.lng }),
  );
  const far = drawn(random, 40, () => ({
    lat: BERLIN.lat + 0.3 + random.next() / 10,
    lng: BERLIN.lng + random.next() / 2,
  }));
  const spots = [...near, ...far];
  const options = { radius: 100_000, count: 201, page: 64 };
  const { found, reads } = search(sorted(spots), BERLIN, options);
  assertNearest(found, false, nearby(spots, BERLIN, 100_000), 201);
  assert.ok(reads < 150, `${reads} reads`);
  const alone = search(sorted([{ id: "a", ...world.near(BERLIN) }]), BERLIN, options);
  assert.ok(alone.reads <= 4, `${alone.reads} reads for one point`);
});
