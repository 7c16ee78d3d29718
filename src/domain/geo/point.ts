/** Points on the Earth and the distance between them. Decisions, "Geo". */

/** In degrees, WGS-84: latitude -90 to 90, longitude -180 to 180. */
export interface GeoPoint {
  readonly lat: number;
  readonly lng: number;
}

/** Mean radius of WGS-84, in metres: distances are along great circles of such a sphere. */
export const EARTH_RADIUS_METRES = 6_371_008.8;

export const LATITUDE_MAX = 90;
export const LONGITUDE_MAX = 180;
const TURN = 360;
const RADIANS = Math.PI / 180;

export function isLatitude(value: unknown): value is number {
  return typeof value === "number" && Math.abs(value) <= LATITUDE_MAX;
}

export function isLongitude(value: unknown): value is number {
  return typeof value === "number" && Math.abs(value) <= LONGITUDE_MAX;
}

/** Metres, by the haversine formula: exact to a nanometre for what is near, poles included. */
export function distanceMetres(a: GeoPoint, b: GeoPoint): number {
  const across = Math.abs(a.lng - b.lng);
  // The two sides of the antimeridian are one place, to the last bit.
  const turned = Math.min(across, TURN - across);
  const north = Math.sin((a.lat - b.lat) * RADIANS / 2);
  const east = Math.sin(turned * RADIANS / 2);
  const square = north * north +
    Math.cos(a.lat * RADIANS) * Math.cos(b.lat * RADIANS) * east * east;
  return 2 * EARTH_RADIUS_METRES * Math.asin(Math.min(1, Math.sqrt(square)));
}
