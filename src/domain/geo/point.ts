/** Points on the Earth and the distance between them. See docs/reference/geo.md. */

/** Degrees in WGS-84: latitude from -90 to 90, longitude from -180 to 180. */
export interface GeoPoint {
  readonly lat: number;
  readonly lng: number;
}

/** Mean radius of WGS-84 in metres. Distances are along great circles of a sphere of this size. */
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

/** Metres, by the haversine formula. Exact to a nanometre for near points, at the poles too. */
export function distanceMetres(a: GeoPoint, b: GeoPoint): number {
  const across = Math.abs(a.lng - b.lng);
  // A longitude of 180 and one of -180 are the same place, to the last bit.
  const turned = Math.min(across, TURN - across);
  const north = Math.sin((a.lat - b.lat) * RADIANS / 2);
  const east = Math.sin(turned * RADIANS / 2);
  const square = north * north +
    Math.cos(a.lat * RADIANS) * Math.cos(b.lat * RADIANS) * east * east;
  return 2 * EARTH_RADIUS_METRES * Math.asin(Math.min(1, Math.sqrt(square)));
}

/** `metadata.geo` of an event: the name of the geo type, and the point. */
export interface GeoStamp extends GeoPoint {
  readonly type: string;
}
