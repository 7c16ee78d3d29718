/**
 * Compiles `geo_types`, and the `geo` of event types: which part of an event's data is a point.
 *
 * See docs/reference/geo.md.
 */

import { type GeoReader, geoReader, type GeoType } from "../geo/attachment.ts";
import type { Steps } from "../fairness/pieces.ts";
import { excerpt } from "../handler/path.ts";
import { parseSegments, type Segment } from "../handler/segments.ts";
import { describeKind, isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { didYouMean } from "../nearest_name.ts";
import { type FaultList, joinIndex, joinKey, shorten } from "./fault_list.ts";
import { checkTypeName } from "./declared_names.ts";
import { checkKnownKeys, requireObject, uniqueStringsSteps } from "./shape.ts";

/** The type `point`, which is available without being declared. */
const BUILT_IN: GeoType = { name: "point", lat: "lat", lng: "lng" };

const TYPE_HINT = 'For example {"type": "point", "properties": ["lat", "lng"]}.';
const GEO_HINT = 'For example {"type": "place", "path": "$.data.location"}.';
const PATH_HINT = 'For example "$.data.location".';
const PROPERTIES_HINT = "The first holds the latitude, the second the longitude.";
/** Unambiguous names: with them a deploy detects a swapped pair before any point is stored. */
const LATITUDE_NAMES: ReadonlySet<string> = new Set(["lat", "latitude"]);
const LONGITUDE_NAMES: ReadonlySet<string> = new Set(["lng", "lon", "long", "longitude"]);

/**
 * The geo types of a spec by name, and `point`. Includes faulty ones, because they are
 * declared.
 */
export function* compileGeoTypes(
  document: JsonObject,
  faults: FaultList,
): Steps<ReadonlyMap<string, GeoType>> {
  const compiled = new Map([[BUILT_IN.name, BUILT_IN]]);
  if (document.geo_types === undefined) return compiled;
  const types = requireObject(document.geo_types, "geo_types", "Write {} for none.", faults) ?? {};
  for (const name of Object.keys(types)) {
    if (faults.isFull()) break;
    yield;
    const path = joinKey("geo_types", name);
    checkTypeName(name, "Geo type", path, faults);
    const type = yield* compileGeoType(name, types[name]!, path, faults);
    compiled.set(name, type ?? { ...BUILT_IN, name });
  }
  return compiled;
}

function* compileGeoType(
  name: string,
  value: JsonValue,
  path: string,
  faults: FaultList,
): Steps<GeoType | undefined> {
  const definition = requireObject(value, path, TYPE_HINT, faults);
  if (definition === undefined) return undefined;
  checkKnownKeys(definition, ["type", "properties"], path, faults);
  const { type, properties } = definition;
  if (type !== "point") {
    const message = type === undefined
      ? `${path}.type is required.`
      : `${path}.type must be "point"; there are no other shapes.`;
    faults.add(
      type === undefined ? "missing_key" : "geo_shape",
      `${path}.type`,
      message,
      TYPE_HINT,
    );
  }
  const place = `${path}.properties`;
  if (properties === undefined) {
    faults.add("missing_key", place, `${place} is required.`, TYPE_HINT);
    return undefined;
  }
  const names = yield* uniqueStringsSteps(properties, place, PROPERTIES_HINT, faults);
  if (Array.isArray(properties) && properties.length !== 2) {
    const message = `A point has two properties; this one names ${properties.length}.`;
    faults.add("geo_properties", place, message, PROPERTIES_HINT);
  }
  const [lat, lng] = names;
  if (names.length !== 2 || lat === undefined || lng === undefined) return undefined;
  checkOrder(lat.text, lng.text, place, faults);
  return { name, lat: lat.text, lng: lng.text };
}

function checkOrder(lat: string, lng: string, path: string, faults: FaultList): void {
  for (const [index, name] of [lat, lng].entries()) {
    if (name === "") {
      faults.add("geo_properties", joinIndex(path, index), "A property has a name.", TYPE_HINT);
    }
  }
  const isSwapped = LONGITUDE_NAMES.has(lat.toLowerCase()) || LATITUDE_NAMES.has(lng.toLowerCase());
  if (!isSwapped) return;
  const message = `"${shorten(lat)}" would be the latitude, and "${shorten(lng)}" the longitude.`;
  faults.add("geo_properties", path, message, PROPERTIES_HINT);
}

/** How the point of an event is found; undefined if its type declares none (absent or `{}`). */
export function compileGeo(
  value: JsonValue | undefined,
  types: ReadonlyMap<string, GeoType>,
  path: string,
  faults: FaultList,
): GeoReader | undefined {
  if (value === undefined) return undefined;
  if (isJsonObject(value) && Object.keys(value).length === 0) return undefined;
  const definition = requireObject(value, path, GEO_HINT, faults);
  if (definition === undefined) return undefined;
  checkKnownKeys(definition, ["type", "path"], path, faults);
  const name = requireText(definition.type, `${path}.type`, faults);
  const text = requireText(definition.path, `${path}.path`, faults);
  const type = name === undefined ? undefined : types.get(name);
  if (name !== undefined && type === undefined) {
    const message = `"${shorten(name)}" is not in geo_types.`;
    const hint = didYouMean(name, types.keys(), "Declare it in geo_types.");
    faults.add("unknown_geo_type", `${path}.type`, message, hint);
  }
  const steps = text === undefined ? undefined : parsePath(text, `${path}.path`, faults);
  return type && steps && geoReader(type, steps);
}

function requireText(
  value: JsonValue | undefined,
  path: string,
  faults: FaultList,
): string | undefined {
  if (typeof value === "string") return value;
  if (value === undefined) faults.add("missing_key", path, `${path} is required.`, GEO_HINT);
  else {
    const message = `${path} must be a string, not ${describeKind(value)}.`;
    faults.add("wrong_type", path, message, GEO_HINT);
  }
  return undefined;
}

/** The steps of a path below `$.data`. */
function parsePath(text: string, path: string, faults: FaultList): readonly Segment[] | undefined {
  const parsed = text.startsWith("$.") ? parseSegments(text.slice(1)) : undefined;
  if (parsed === undefined || !parsed.ok) {
    const reason = parsed === undefined ? 'it does not begin with "$.data"' : parsed.message;
    const message = `"${excerpt(text)}" is not a path: ${reason}.`;
    faults.add("path_invalid", path, message, PATH_HINT);
    return undefined;
  }
  const [root, ...steps] = parsed.segments;
  if (root?.name !== "data") {
    const message = `"${excerpt(text)}" does not read the event's data.`;
    faults.add("path_root_unknown", path, message, PATH_HINT);
    return undefined;
  }
  if (steps.some(({ every }) => every)) {
    const message = `"${excerpt(text)}" leads to a list; an event has one point.`;
    faults.add("path_invalid", path, message, "Name one element, for example [0].");
    return undefined;
  }
  return steps;
}
