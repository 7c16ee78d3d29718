/**
 * A JSON Schema from the values that were seen. Every value that was added is valid under it. What
 * is held grows with the number of different keys, not of values, and is bounded.
 */

import type { JsonObject, JsonValue } from "../json.ts";

/** What was seen at one place. */
interface Seen {
  count: number;
  isNull: boolean;
  isBoolean: boolean;
  isInteger: boolean;
  isFraction: boolean;
  isText: boolean;
  objects: SeenObjects | undefined;
  lists: { elements: Seen } | undefined;
}

interface SeenObjects {
  count: number;
  properties: Map<string, Seen>;
  /** Set once there were too many keys: an object like a table, with values of one form. */
  values: Seen | undefined;
}

/** Everything that schemas of one file may hold together. */
export interface SchemaRoom {
  /** Places that may still be added. */
  places: number;
}

/** Places of all schemas of one file together; what comes later is left open. */
export const PLACES_MAX = 20_000;
/** An object with more different keys than this is taken for a table. */
const KEYS_MAX = 100;
const DEPTH_MAX = 16;

export interface SchemaInference {
  add(value: JsonValue): void;
  schema(): JsonObject;
}

/** `room` is shared by all inferences of a file. */
export function inferSchema(room: SchemaRoom): SchemaInference {
  const root = emptyPlace();
  return {
    add: (value) => addValue(root, value, room, 0),
    schema: () => schemaOf(root),
  };
}

function emptyPlace(): Seen {
  return {
    count: 0,
    isNull: false,
    isBoolean: false,
    isInteger: false,
    isFraction: false,
    isText: false,
    objects: undefined,
    lists: undefined,
  };
}

/** A new place, or undefined where there is no room left: the place is then open. */
function takePlace(room: SchemaRoom, depth: number): Seen | undefined {
  if (room.places <= 0 || depth >= DEPTH_MAX) return undefined;
  room.places--;
  return emptyPlace();
}

function addValue(seen: Seen, value: JsonValue, room: SchemaRoom, depth: number): void {
  seen.count++;
  if (value === null) seen.isNull = true;
  else if (typeof value === "string") seen.isText = true;
  else if (typeof value === "boolean") seen.isBoolean = true;
  else if (typeof value === "number") {
    if (Number.isInteger(value)) seen.isInteger = true;
    else seen.isFraction = true;
  } else if (Array.isArray(value)) addList(seen, value, room, depth);
  else addObject(seen, value, room, depth);
}

function addList(seen: Seen, list: JsonValue[], room: SchemaRoom, depth: number): void {
  seen.lists ??= { elements: takePlace(room, depth) ?? openPlace() };
  const { elements } = seen.lists;
  if (isOpen(elements)) return;
  for (const value of list) addValue(elements, value, room, depth + 1);
}

function addObject(seen: Seen, object: JsonObject, room: SchemaRoom, depth: number): void {
  const objects = seen.objects ??= { count: 0, properties: new Map(), values: undefined };
  objects.count++;
  for (const key in object) {
    const place = objects.values ?? placeOf(objects, key, room, depth);
    if (!isOpen(place)) addValue(place, object[key]!, room, depth + 1);
  }
}

function placeOf(objects: SeenObjects, key: string, room: SchemaRoom, depth: number): Seen {
  const known = objects.properties.get(key);
  if (known !== undefined) return known;
  if (objects.properties.size >= KEYS_MAX) return objects.values = mergeAll(objects, room);
  const place = takePlace(room, depth) ?? openPlace();
  objects.properties.set(key, place);
  return place;
}

/** The places of all keys as one. */
function mergeAll({ properties }: SeenObjects, room: SchemaRoom): Seen {
  const [first = emptyPlace(), ...others] = properties.values();
  for (const other of others) {
    if (isOpen(first) || isOpen(other)) return openPlace();
    merge(first, other, room);
  }
  properties.clear();
  return first;
}

function merge(into: Seen, from: Seen, room: SchemaRoom): void {
  into.count += from.count;
  into.isNull ||= from.isNull;
  into.isBoolean ||= from.isBoolean;
  into.isInteger ||= from.isInteger;
  into.isFraction ||= from.isFraction;
  into.isText ||= from.isText;
  if (from.lists !== undefined) {
    if (into.lists === undefined) into.lists = from.lists;
    else into.lists.elements = mergeOf(into.lists.elements, from.lists.elements, room);
  }
  if (from.objects === undefined) return;
  if (into.objects === undefined) {
    into.objects = from.objects;
    return;
  }
  mergeObjects(into.objects, from.objects, room);
}

function mergeOf(one: Seen, other: Seen, room: SchemaRoom): Seen {
  if (isOpen(one) || isOpen(other)) return openPlace();
  merge(one, other, room);
  return one;
}

function mergeObjects(into: SeenObjects, from: SeenObjects, room: SchemaRoom): void {
  into.count += from.count;
  if (from.values !== undefined && into.values === undefined) into.values = mergeAll(into, room);
  if (into.values !== undefined) {
    into.values = mergeOf(into.values, from.values ?? mergeAll(from, room), room);
    return;
  }
  for (const [key, place] of from.properties) {
    const known = into.properties.get(key);
    if (known !== undefined) into.properties.set(key, mergeOf(known, place, room));
    else into.properties.set(key, place);
  }
}

/** A place of which nothing is known, because there was no room: everything is valid there. */
function openPlace(): Seen {
  return { ...emptyPlace(), count: -1 };
}

function isOpen({ count }: Seen): boolean {
  return count < 0;
}

function schemaOf(seen: Seen): JsonObject {
  if (isOpen(seen)) return {};
  const types = [
    ...(seen.isNull ? ["null"] : []),
    ...(seen.isBoolean ? ["boolean"] : []),
    ...(seen.isFraction ? ["number"] : seen.isInteger ? ["integer"] : []),
    ...(seen.isText ? ["string"] : []),
    ...(seen.lists ? ["array"] : []),
    ...(seen.objects ? ["object"] : []),
  ];
  if (types.length === 0) return {};
  return {
    type: types.length === 1 ? types[0]! : types,
    ...(seen.lists && listSchema(seen.lists.elements)),
    ...(seen.objects && objectSchema(seen.objects)),
  };
}

function listSchema(elements: Seen): JsonObject {
  const items = schemaOf(elements);
  return Object.keys(items).length === 0 ? {} : { items };
}

function objectSchema({ count, properties, values }: SeenObjects): JsonObject {
  if (values !== undefined) return { additionalProperties: schemaOf(values) };
  if (properties.size === 0) return {};
  const entries = [...properties];
  // An open place does not count, so its key may be missing somewhere.
  const required = entries.filter(([, place]) => place.count === count).map(([key]) => key);
  return {
    properties: Object.fromEntries(entries.map(([key, place]) => [key, schemaOf(place)])),
    ...(required.length > 0 && { required }),
  };
}
