/**
 * Reads the point of an event from its data, as the event type declares it.
 *
 * The value is an object with the two properties of the geo type, or a GeoJSON Point (RFC 7946,
 * 3.1.2: longitude first). See docs/reference/geo.md.
 */

import { readStep } from "../handler/path.ts";
import type { Segment } from "../handler/segments.ts";
import { describeKind, isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import type { DataFault } from "../refusal.ts";
import { type GeoStamp, isLatitude, isLongitude } from "./point.ts";

/** One entry of `geo_types`. */
export interface GeoType {
  readonly name: string;
  /** Properties that hold latitude and longitude. */
  readonly lat: string;
  readonly lng: string;
}

export type Located =
  /** `geo` is undefined when the path leads to nothing, or to null. */
  | { readonly ok: true; readonly geo: GeoStamp | undefined }
  | { readonly ok: false; readonly fault: DataFault };

/** Finds the point in an event's data. */
export type GeoReader = (data: JsonObject) => Located;

const NOWHERE: Located = { ok: true, geo: undefined };

/** `steps` lead from the data to the value. They contain no `[*]`. */
export function geoReader(type: GeoType, steps: readonly Segment[]): GeoReader {
  const path = ["data", ...steps.map(({ name, index }) => name ?? index)].join(".");
  return (data) => {
    let value: JsonValue | undefined = data;
    for (const step of steps) value = readStep(value, step);
    if (value === undefined || value === null) return NOWHERE;
    return readPoint(type, value, path);
  };
}

function readPoint(type: GeoType, value: JsonValue, path: string): Located {
  if (!isJsonObject(value)) {
    const forms = `an object with ${type.lat} and ${type.lng}, or a GeoJSON Point`;
    return fault(path, `must be ${forms}, not ${describeKind(value)}`);
  }
  const isNamed = Object.hasOwn(value, type.lat) || Object.hasOwn(value, type.lng);
  if (!isNamed && Object.hasOwn(value, "coordinates")) return readGeoJson(type, value, path);
  const lat = Object.hasOwn(value, type.lat) ? value[type.lat] : undefined;
  const lng = Object.hasOwn(value, type.lng) ? value[type.lng] : undefined;
  return stamp(type, { lat, lng, latPath: `${path}.${type.lat}`, lngPath: `${path}.${type.lng}` });
}

/** Ignores further coordinates, such as a height. */
function readGeoJson(type: GeoType, value: JsonObject, path: string): Located {
  if (value.type !== "Point") return fault(`${path}.type`, 'must be "Point"');
  const { coordinates } = value;
  const place = `${path}.coordinates`;
  if (!Array.isArray(coordinates)) return fault(place, "must be [longitude, latitude]");
  return stamp(type, {
    lat: coordinates[1],
    lng: coordinates[0],
    latPath: `${place}.1`,
    lngPath: `${place}.0`,
  });
}

interface StampedPlace {
  readonly lat: JsonValue | undefined;
  readonly lng: JsonValue | undefined;
  readonly latPath: string;
  readonly lngPath: string;
}

function stamp(
  { name }: GeoType,
  { lat, lng, latPath, lngPath }: StampedPlace,
): Located {
  if (!isLatitude(lat)) return fault(latPath, "must be a latitude, a number from -90 to 90");
  if (!isLongitude(lng)) return fault(lngPath, "must be a longitude, a number from -180 to 180");
  // Adding 0 turns -0 into 0: stored points have no negative zero.
  return { ok: true, geo: { type: name, lat: lat + 0, lng: lng + 0 } };
}

function fault(path: string, message: string): Located {
  return { ok: false, fault: { path, message } };
}
