/**
 * Decodes the query of `GET /{type}/nearby`; missing or bad parameters are 400.
 *
 * See docs/reference/geo.md.
 */

import { isLatitude, isLongitude } from "../../domain/geo/point.ts";
import { limits } from "../../domain/limits.ts";
import type { NearbyRequest } from "../../domain/reading.ts";
import { accept, type Outcome } from "../../domain/refusal.ts";
import { badQuery, readCount } from "./query.ts";

export type NearbyQuery = Omit<NearbyRequest, "aggregateType">;

/** For example `52.5`, `-0.25`, `1e3`. */
const NUMBER = /^-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;

export function decodeNearbyQuery(text: string): Outcome<NearbyQuery> {
  const query = new URLSearchParams(text);
  const lat = readNumber(query, "lat");
  if (!isLatitude(lat)) return badDegrees("lat", lat, 90);
  const lng = readNumber(query, "lng");
  if (!isLongitude(lng)) return badDegrees("lng", lng, 180);
  const { nearbyRadiusMetresMin: min, nearbyRadiusMetresMax: max } = limits;
  const radius = readNumber(query, "radius") ?? limits.nearbyRadiusMetresDefault;
  if (!(radius >= min && radius <= max)) {
    return badQuery("radius", `must be a number of metres from ${min} to ${max}`);
  }
  const limit = readCount(query, "limit");
  if (!limit.ok) return limit;
  return accept({ point: { lat, lng }, radius, limit: limit.value });
}

function badDegrees(name: string, value: number | undefined, max: number): Outcome<never> {
  const what = `a number from -${max} to ${max}`;
  return badQuery(name, value === undefined ? `is required: ${what}` : `must be ${what}`);
}

/** NaN if the text is not a number; undefined if the parameter is absent. */
function readNumber(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  return NUMBER.test(text) ? Number(text) : NaN;
}
