/**
 * Points, and which of them are near, found by measuring the distance to every one. Distances
 * come from a formula of its own and from geographiclib (C. Karney), which solves geodesics on
 * any ellipsoid, here a sphere.
 */

import assert from "node:assert/strict";
import geodesic from "geographiclib-geodesic";
import type { Random } from "../crash/random.ts";

export interface Spot {
  readonly lat: number;
  readonly lng: number;
}

export interface NamedSpot extends Spot {
  readonly id: string;
}

export interface Near {
  readonly id: string;
  readonly distance: number;
}

/** WGS-84 mean radius, in metres. */
const RADIUS = 6_371_008.8;
const sphere = new geodesic.Geodesic.Geodesic(RADIUS, 0);

/** The textbook haversine formula. */
export function haversine(a: Spot, b: Spot): number {
  const radians = (degrees: number) => degrees * Math.PI / 180;
  const h = Math.sin(radians(b.lat - a.lat) / 2) ** 2 +
    Math.cos(radians(a.lat)) * Math.cos(radians(b.lat)) * Math.sin(radians(b.lng - a.lng) / 2) ** 2;
  return 2 * RADIUS * Math.asin(Math.sqrt(Math.min(1, h)));
}

export function geodesicDistance(a: Spot, b: Spot): number {
  return sphere.Inverse(a.lat, a.lng, b.lat, b.lng).s12!;
}

/** All spots within `radius`, sorted by distance, then by id (ASCII). */
export function nearby(
  spots: Iterable<NamedSpot>,
  from: Spot,
  radius: number,
  distanceOf: (a: Spot, b: Spot) => number = haversine,
): Near[] {
  const near: Near[] = [];
  for (const spot of spots) {
    const distance = distanceOf(from, spot);
    if (distance <= radius) near.push({ id: spot.id, distance });
  }
  return near.sort((a, b) => a.distance - b.distance || (a.id < b.id ? -1 : 1));
}

/** How far two formulas may differ, in metres. */
const SAME = 1e-6;

/**
 * Compares an answer with the oracle's. Distances must match place by place; ids may differ
 * only between spots at the same distance.
 */
export function assertNearest(
  found: readonly Near[],
  truncated: boolean,
  expected: readonly Near[],
  limit: number,
): void {
  const wanted = expected.slice(0, limit);
  assert.equal(found.length, wanted.length, "as many as there are");
  assert.equal(truncated, expected.length > limit, "truncated is exact");
  const distances = new Map(expected.map(({ id, distance }) => [id, distance]));
  for (const [index, { id, distance }] of found.entries()) {
    const own = distances.get(id);
    assert.ok(own !== undefined, `${id} is near`);
    assert.ok(Math.abs(distance - own) <= SAME, `${id} is at ${own}, not ${distance}`);
    assert.ok(Math.abs(distance - wanted[index]!.distance) <= SAME, `${id} is number ${index}`);
  }
  assert.equal(new Set(found.map(({ id }) => id)).size, found.length, "none twice");
  for (const [a, b] of found.slice(1).map((each, index) => [found[index]!, each] as const)) {
    assert.ok(a.distance <= b.distance, "sorted by distance");
    assert.ok(a.distance < b.distance || a.id < b.id, "ties by id");
  }
}

/** Spots where projections, grids and formulas break, and some where they do not. */
const HARD: readonly Spot[] = [
  { lat: 90, lng: 0 },
  { lat: 90, lng: -120.5 },
  { lat: -90, lng: 180 },
  { lat: -90, lng: -77 },
  { lat: 0, lng: 180 },
  { lat: 0, lng: -180 },
  { lat: 67.25, lng: 179.9999 },
  { lat: -16.8, lng: -179.9999 },
  { lat: 0, lng: 0 },
  // A corner and an edge of the cube around the Earth.
  { lat: 35.264389682754654, lng: 45 },
  { lat: 0, lng: -135 },
  { lat: 89.9999, lng: 12 },
  { lat: 52.52, lng: 13.405 },
];

/** Makes random points and queries. */
export interface GeoWorld {
  /** One of the hard places, or anywhere. */
  spot(): Spot;
  /** Some decimetres to some hundred kilometres away, each power of ten equally often. */
  near(spot: Spot): Spot;
  /** 1 to 100,000 metres, each power of ten equally often. */
  radius(): number;
}

export function geoWorld(random: Random): GeoWorld {
  return {
    spot() {
      if (random.chance(0.7)) return random.pick(HARD);
      const lat = Math.asin(2 * random.next() - 1) * 180 / Math.PI;
      return { lat, lng: random.next() * 360 - 180 };
    },
    near({ lat, lng }) {
      const to = sphere.Direct(lat, lng, random.next() * 360, 10 ** (random.next() * 6.5 - 1));
      return { lat: to.lat2!, lng: to.lon2! };
    },
    radius: () => 10 ** (random.next() * 5),
  };
}
