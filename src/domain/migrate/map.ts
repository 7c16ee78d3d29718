/**
 * The map of a migration: which streams become which aggregates, which events become which, who the
 * actor is, and what else is kept. Applying it to an event gives a line as imports take them. Pure.
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { createIdMapper, type IdMapper } from "./ids.ts";
import { NO_CATEGORY, type SourceEvent } from "./source_event.ts";
import { COLUMN_ROLES, type Columns } from "./sources/plain_rows.ts";
import type { Texts } from "../lookup/text_map.ts";

export interface MappedStreams {
  /** The aggregate type here. */
  readonly type: string;
  /** The event type here of each type there; null leaves it out. */
  readonly events: ReadonlyMap<string, string | null>;
}

/** One of these: the same for all, the value at a path, or `<type>:<id>` at a path. */
export type PartyRule =
  | { readonly type: string; readonly id: string }
  | { readonly type: string; readonly from: string }
  | { readonly party: string };

export interface MigrationMap {
  /** By category; null leaves all of its streams out. */
  readonly streams: ReadonlyMap<string, MappedStreams | null>;
  readonly actor: PartyRule;
  readonly target?: PartyRule;
  /** Fields that `data` gets, by the path of what it would lose otherwise. */
  readonly keep: ReadonlyMap<string, string>;
  readonly columns?: Columns;
  /** `none`: names of streams are ids, without a category. */
  readonly split?: "none";
  readonly namespace?: string;
}

export type ParsedMap =
  | { readonly ok: true; readonly map: MigrationMap }
  | { readonly ok: false; readonly path: string; readonly message: string };

export const DEFAULT_ACTOR = { type: "imported", id: "global" } as const;

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const FIELDS = ["$schema", "streams", "actor", "target", "keep", "columns", "split", "namespace"];

/** Reads the document of a map; everything in it may be left out. */
export function parseMap(document: JsonValue): ParsedMap {
  if (!isJsonObject(document)) return wrong("", "a map is an object");
  const unknown = Object.keys(document).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined) {
    return wrong(unknown, `there is no such field; there are ${FIELDS.slice(1).join(", ")}`);
  }
  const { streams = {}, actor = { ...DEFAULT_ACTOR }, target, keep = {}, columns } = document;
  const { split, namespace } = document;
  const parsed = parseStreams(streams);
  if ("ok" in parsed) return parsed;
  for (const [role, rule] of [["actor", actor], ["target", target]] as const) {
    if (rule !== undefined && !isPartyRule(rule)) {
      return wrong(role, 'must be {"type", "id"}, {"type", "from": <path>} or {"party": <path>}');
    }
  }
  if (!isJsonObject(keep) || !isTexts(keep)) {
    return wrong("keep", "must be an object: the path there, and the field here");
  }
  const fault = columnsFault(columns);
  if (fault !== undefined) return wrong("columns", fault);
  if (split !== undefined && split !== "none") return wrong("split", 'can only be "none"');
  if (namespace !== undefined && !(typeof namespace === "string" && UUID.test(namespace))) {
    return wrong("namespace", "must be a UUID");
  }
  return {
    ok: true,
    map: {
      streams: parsed,
      actor: actor as unknown as PartyRule,
      ...(target !== undefined && { target: target as unknown as PartyRule }),
      keep: new Map(Object.entries(keep) as [string, string][]),
      ...(columns !== undefined && { columns: columns as unknown as Columns }),
      ...(split !== undefined && { split }),
      ...(namespace !== undefined && { namespace: namespace as string }),
    },
  };
}

function wrong(path: string, message: string): ParsedMap & { ok: false } {
  return { ok: false, path, message };
}

function parseStreams(
  streams: JsonValue,
): Map<string, MappedStreams | null> | ParsedMap & { ok: false } {
  if (!isJsonObject(streams)) return wrong("streams", "must be an object");
  const parsed = new Map<string, MappedStreams | null>();
  for (const [category, rule] of Object.entries(streams)) {
    const path = `streams.${category}`;
    if (rule === null) {
      parsed.set(category, null);
      continue;
    }
    if (!isJsonObject(rule) || typeof rule.type !== "string" || !isJsonObject(rule.events)) {
      return wrong(path, 'must be null, or {"type": <aggregate type>, "events": {...}}');
    }
    const other = Object.keys(rule).find((field) => field !== "type" && field !== "events");
    if (other !== undefined) {
      return wrong(`${path}.${other}`, "there is no such field; there are type and events");
    }
    const events = Object.entries(rule.events);
    const bad = events.find(([, name]) => name !== null && typeof name !== "string");
    if (bad !== undefined) {
      return wrong(`${path}.events.${bad[0]}`, "must be an event type or null");
    }
    parsed.set(category, { type: rule.type, events: new Map(events as [string, string | null][]) });
  }
  return parsed;
}

function isPartyRule(rule: JsonValue): boolean {
  if (!isJsonObject(rule)) return false;
  const names = Object.keys(rule).sort().join();
  return ["id,type", "from,type", "party"].includes(names) && isTexts(rule);
}

function isTexts(value: JsonValue): boolean {
  return isJsonObject(value) && Object.values(value).every((each) => typeof each === "string");
}

function columnsFault(columns: JsonValue | undefined): string | undefined {
  if (columns === undefined) return undefined;
  if (!isJsonObject(columns)) return "must be an object";
  for (const [role, name] of Object.entries(columns)) {
    if (!(COLUMN_ROLES as readonly string[]).includes(role)) {
      return `has no ${role}; there are ${COLUMN_ROLES.join(", ")}`;
    }
    const isList = (role === "data" || role === "json") && Array.isArray(name) &&
      name.every((each) => typeof each === "string");
    if (!isList && (typeof name !== "string" || role === "json")) {
      return `${role} must name a column`;
    }
  }
}

/** Everything of a map that a person may want to change, as a document. */
export function writeMap(map: MigrationMap): JsonObject {
  const streams = [...map.streams].map(([category, mapped]) => [
    category,
    mapped && { type: mapped.type, events: Object.fromEntries(mapped.events) },
  ]);
  return {
    streams: Object.fromEntries(streams),
    actor: { ...map.actor },
    ...(map.target && { target: { ...map.target } }),
    keep: Object.fromEntries(map.keep),
    ...(map.columns && { columns: { ...map.columns } as unknown as JsonObject }),
    ...(map.split && { split: map.split }),
    ...(map.namespace && { namespace: map.namespace }),
  };
}

export type Mapped =
  | { readonly kind: "event"; readonly event: JsonObject }
  | { readonly kind: "left_out" }
  | { readonly kind: "refused"; readonly rule: string; readonly message: string };

export type MapEvent = (event: SourceEvent) => Mapped;

/** `source` names the system in `metadata.origin`, unless an event names another place. */
export function applyMap(
  map: MigrationMap,
  source: string,
  singletons: Texts,
): MapEvent {
  const ids = createIdMapper(singletons, map.namespace);
  const wholes = new Map<string, boolean>();

  /** A stream without an id and one with the id `global` would be one. */
  function isCollision(category: string, entity: string): boolean {
    if (entity !== "" && entity !== "global") return false;
    const isWhole = entity === "";
    const known = wholes.get(category);
    if (known === undefined) wholes.set(category, isWhole);
    return known !== undefined && known !== isWhole;
  }

  return (event) => {
    const { category, entity } = streamPlace(map, event);
    const mapped = map.streams.get(category);
    if (mapped === undefined) {
      return refused("stream_unmapped", `the map has no streams.${category}`);
    }
    if (mapped === null) return { kind: "left_out" };
    const type = mapped.events.get(event.type);
    if (type === undefined) {
      return refused("event_unmapped", `the map has no streams.${category}.events.${event.type}`);
    }
    if (type === null) return { kind: "left_out" };
    if (event.timeMs === undefined) {
      const shown = event.time === undefined ? "no time" : `the time ${JSON.stringify(event.time)}`;
      return refused("time_missing", `the event has ${shown}, which is none that can be read`);
    }
    if (isCollision(category, entity)) {
      return refused("id_taken", `${category} has streams without an id and one called global`);
    }
    const data = dataOf(map, event);
    if (data === undefined) return refused("field_taken", "data has a field that keep would set");
    const id = ids.idOf(entity);
    const target = map.target && partyOf(map.target, event, ids);
    const metadata: JsonObject = {
      actor: partyOf(map.actor, event, ids) ?? { type: defaultType(map.actor), id: "global" },
      ...(target && { target }),
      timestamp: Math.floor(event.timeMs / 1000),
      origin: originOf(event, source, id !== entity),
    };
    return { kind: "event", event: { key: `${mapped.type}:${id}`, type, data, metadata } };
  };
}

function refused(rule: string, message: string): Mapped {
  return { kind: "refused", rule, message };
}

/** The category and the id of an event's stream under a map. */
export function streamPlace(map: Pick<MigrationMap, "split">, event: SourceEvent) {
  return map.split === "none" ? { category: NO_CATEGORY, entity: event.stream } : event;
}

function defaultType(rule: PartyRule): string {
  return "type" in rule ? rule.type : DEFAULT_ACTOR.type;
}

const PARTY = /^([a-z][a-z0-9_]{0,63}):(.+)$/s;

/** `<type>:<id>`, as events of ours are written elsewhere. */
export function parseParty(text: JsonValue | undefined): { type: string; id: string } | undefined {
  const [, type, id] = typeof text === "string" ? PARTY.exec(text) ?? [] : [];
  return type === undefined ? undefined : { type, id: id! };
}

const KEPT_AGENT = "system_agent";

function partyOf(
  rule: PartyRule,
  { rest }: SourceEvent,
  ids: IdMapper,
): { type: string; id: string } | undefined {
  if ("id" in rule) return { type: rule.type, id: rule.id };
  const value = valueAt(rest, "from" in rule ? rule.from : rule.party);
  if ("party" in rule) {
    const party = parseParty(value);
    if (party === undefined || party.type === KEPT_AGENT) return party;
    return { type: party.type, id: ids.idOf(party.id) };
  }
  const text = typeof value === "number" ? String(value) : value;
  if (typeof text !== "string" || text === "") return undefined;
  return { type: rule.type, id: ids.idOf(text) };
}

/** The value at a path of names with dots. */
function valueAt(from: JsonObject, path: string): JsonValue | undefined {
  let value: JsonValue | undefined = from;
  if (Object.hasOwn(from, path)) return from[path];
  for (const name of path.split(".")) {
    if (!isJsonObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

/** The data here; undefined if a kept value would replace a field of it. */
export function dataOf({ keep }: MigrationMap, event: SourceEvent): JsonObject | undefined {
  const { data = null } = event;
  const own = isJsonObject(data) ? data : data === null ? {} : { value: data };
  if (keep.size === 0) return own;
  const kept: [string, JsonValue][] = [];
  for (const [path, field] of keep) {
    const value = valueAt(event.rest, path);
    if (value === undefined) continue;
    if (Object.hasOwn(own, field)) return undefined;
    kept.push([field, value]);
  }
  return { ...own, ...Object.fromEntries(kept) };
}

/** What stays known of the event as it was: `metadata.origin`. */
function originOf(event: SourceEvent, source: string, isRenamed: boolean): JsonObject {
  const { id, time, position, stream, correlationId, causationId } = event;
  const origin: JsonObject = { source: event.origin ?? source };
  if (isRenamed) origin.stream = stream;
  if (id !== undefined) origin.id = id;
  if (time !== undefined) origin.time = time;
  if (position !== undefined) origin.position = position;
  if (correlationId !== undefined) origin.correlation_id = correlationId;
  if (causationId !== undefined) origin.causation_id = causationId;
  return origin;
}
