/** Distances along great circles of a sphere with the mean radius of WGS-84. */

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  distanceMetres,
  type GeoPoint,
  isLatitude,
  isLongitude,
} from "../../../src/domain/geo/point.ts";
import { geodesicDistance } from "../../support/geo_oracle.ts";

const point = fc.record({
  lat: fc.oneof(fc.double({ min: -90, max: 90, noNaN: true }), fc.constantFrom(-90, 0, 90)),
  lng: fc.oneof(fc.double({ min: -180, max: 180, noNaN: true }), fc.constantFrom(-180, 0, 180)),
});

Deno.test("distanceMetres() is what geographiclib finds on the same sphere", () => {
  const near = fc.tuple(
    fc.double({ min: -1, max: 1, noNaN: true }),
    fc.double({ noNaN: true, min: -2, max: 2 }),
  );
  fc.assert(
    fc.property(point, near, (a, [north, east]) => {
      const lat = Math.max(-90, Math.min(90, a.lat + north));
      const lng = Math.max(-180, Math.min(180, a.lng + east));
      const b: GeoPoint = { lat, lng };
      assert.ok(Math.abs(distanceMetres(a, b) - geodesicDistance(a, b)) < 1e-6);
    }),
    { numRuns: 5_000 },
  );
});

Deno.test("distanceMetres() of a quarter of a meridian is a quarter of the Earth", () => {
  const quarter = Math.PI / 2 * 6_371_008.8;
  for (const lng of [-180, -1, 0, 77, 180]) {
    const found = distanceMetres({ lat: 0, lng: 12 }, { lat: 90, lng });
    assert.ok(Math.abs(found - quarter) < 1e-6);
  }
});

Deno.test("distanceMetres() is 0 between the two names of a place on the antimeridian", () => {
  for (const lat of [-90, -45.5, 0, 12, 90]) {
    assert.equal(distanceMetres({ lat, lng: 180 }, { lat, lng: -180 }), 0);
  }
});

Deno.test("distanceMetres() across the antimeridian is the short way", () => {
  const found = distanceMetres({ lat: 0, lng: 179.9 }, { lat: 0, lng: -179.9 });
  assert.ok(Math.abs(found - 0.2 * Math.PI / 180 * 6_371_008.8) < 1e-6);
});

Deno.test("isLatitude() and isLongitude() take numbers in their range, both ends included", () => {
  for (const [is, max] of [[isLatitude, 90], [isLongitude, 180]] as const) {
    for (const value of [-max, -0.5, 0, max]) assert.ok(is(value));
    for (const value of [-max - 1e-9, max + 1e-9, NaN, Infinity, "1", null, undefined, [1]]) {
      assert.ok(!is(value), String(value));
    }
  }
});
