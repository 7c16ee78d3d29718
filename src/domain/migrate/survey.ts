/**
 * What a file holds: kinds of streams, types with their counts and schemas, and fields that a map
 * does not keep. From that come the draft of a map and the draft of a spec. What is held grows with
 * the number of kinds, not of events.
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { distinctNames } from "./ids.ts";
import { inferSchema, PLACES_MAX, type SchemaInference } from "./infer_schema.ts";
import {
  dataOf,
  DEFAULT_ACTOR,
  type MappedStreams,
  type MigrationMap,
  parseParty,
  streamPlace,
} from "./map.ts";
import type { SourceEvent, SourceFault } from "./source_event.ts";
import { createTextCounter } from "./text_counter.ts";

/** Different kinds of streams, types of events, and fields of a file; more is a wrong reading. */
export const CATEGORIES_MAX = 1_000;
export const TYPES_MAX = 5_000;
const FIELDS_MAX = 1_000;
const PARTY_TYPES_MAX = 50;

export interface TypeSurvey {
  readonly type: string;
  readonly events: number;
  /** Events whose data is no object, and is put into one as `value`. */
  readonly wrapped: number;
  readonly schema: JsonObject;
}

export interface CategorySurvey {
  readonly category: string;
  readonly events: number;
  readonly types: readonly TypeSurvey[];
}

export interface Survey {
  readonly events: number;
  /** Different names of streams; undefined if there are too many to be counted. */
  readonly streams: number | undefined;
  readonly categories: readonly CategorySurvey[];
  /** How many events have each field that is neither data, name, id, time nor place. */
  readonly fields: ReadonlyMap<string, number>;
  /** Types of parties that events name as `<type>:<id>`, if each event with the field does. */
  readonly parties: { readonly actor: readonly string[]; readonly target: readonly string[] };
}

export interface Surveyor {
  /** Returns a fault if the file has more kinds than any has. */
  add(event: SourceEvent): SourceFault | undefined;
  survey(): Survey;
}

interface SeenType {
  events: number;
  wrapped: number;
  readonly schema: SchemaInference;
}

/** Surveys events as they would be under the map, as far as it goes. */
export function createSurveyor(map: MigrationMap): Surveyor {
  const room = { places: PLACES_MAX };
  const categories = new Map<string, Map<string, SeenType>>();
  const streams = createTextCounter();
  const fields = new Map<string, number>();
  const parties = { actor: createPartyTypes(), target: createPartyTypes() };
  let events = 0;
  let types = 0;

  function seenType(category: string, type: string): SeenType | SourceFault {
    let found = categories.get(category);
    if (found === undefined) {
      if (categories.size >= CATEGORIES_MAX) return tooMany(CATEGORIES_MAX, "kinds of streams");
      categories.set(category, found = new Map());
    }
    let seen = found.get(type);
    if (seen !== undefined) return seen;
    if (types++ >= TYPES_MAX) return tooMany(TYPES_MAX, "types of events");
    found.set(type, seen = { events: 0, wrapped: 0, schema: inferSchema(room) });
    return seen;
  }

  return {
    add(event) {
      const { category } = streamPlace(map, event);
      const seen = seenType(category, event.type);
      if ("rule" in seen) return seen;
      events++;
      seen.events++;
      streams.add(event.stream);
      const { data = null } = event;
      if (data !== null && !isJsonObject(data)) seen.wrapped++;
      seen.schema.add(dataOf(map, event) ?? {});
      countFields(event.rest, fields);
      parties.actor.add(event.rest.actor);
      parties.target.add(event.rest.target);
      return undefined;
    },
    survey: () => ({
      events,
      streams: streams.count(),
      categories: [...categories].map(([category, types]) => surveyOf(category, types)),
      fields,
      parties: { actor: parties.actor.types(), target: parties.target.types() },
    }),
  };
}

function tooMany(limit: number, what: string): SourceFault {
  const message = `the file has more than ${limit} ${what}: its streams have no kind in their ` +
    'names, or another column says it. A map with "split": "none" takes names as ids';
  return { rule: "too_many_kinds", message };
}

function surveyOf(category: string, types: ReadonlyMap<string, SeenType>): CategorySurvey {
  const all = [...types].map(([type, { events, wrapped, schema }]) => ({
    type,
    events,
    wrapped,
    schema: schema.schema(),
  }));
  return { category, events: all.reduce((sum, { events }) => sum + events, 0), types: all };
}

/** Counts the fields of an object and of the objects in it, by their paths. */
function countFields(rest: JsonObject, fields: Map<string, number>, prefix = "", depth = 0): void {
  for (const name in rest) {
    const path = prefix + name;
    const value = rest[name];
    if (isJsonObject(value) && depth < 2 && Object.keys(value).length > 0) {
      countFields(value, fields, `${path}.`, depth + 1);
      continue;
    }
    const count = fields.get(path);
    if (count !== undefined || fields.size < FIELDS_MAX) fields.set(path, (count ?? 0) + 1);
  }
}

/** The types of parties in a field; none if one event has something else there. */
function createPartyTypes() {
  const found = new Set<string>();
  let isParty = true;
  return {
    add(value: JsonValue | undefined) {
      if (value === undefined || !isParty) return;
      const party = parseParty(value);
      if (party === undefined || found.size >= PARTY_TYPES_MAX) isParty = false;
      else found.add(party.type);
    },
    types: (): readonly string[] => isParty ? [...found].sort() : [],
  };
}

/** A map for everything that was seen; what `given` says stays as it is. */
export function draftMap(survey: Survey, given: MigrationMap, isGiven: boolean): MigrationMap {
  const names = distinctNames(survey.categories.map(({ category }) => category), false);
  const streams = new Map<string, MappedStreams | null>(given.streams);
  for (const { category, types } of survey.categories) {
    const known = given.streams.get(category);
    if (known === null) continue;
    const fresh = types.map(({ type }) => type).filter((type) => !known?.events.has(type));
    const made = [...distinctNames(fresh, true)].map(([there, here]) =>
      [there, isSystemName(there) ? null : here] as const
    );
    const events = new Map([...known?.events ?? [], ...made]);
    streams.set(category, { type: known?.type ?? names.get(category)!, events });
  }
  const { actor, target } = survey.parties;
  if (isGiven) return { ...given, streams };
  return {
    ...given,
    streams,
    ...(actor.length > 0 && { actor: { party: "actor" } }),
    ...(target.length > 0 && { target: { party: "target" } }),
  };
}

/** Types that systems have for themselves: those of ours, and those that begin with `$`. */
function isSystemName(type: string): boolean {
  return /(?:^|\.)[_$][^.]*$/.test(type);
}

/** A spec for everything that the map keeps: states are all data of the events, merged. */
export function draftSpec(survey: Survey, map: MigrationMap): JsonObject {
  const aggregates = new Map<string, Map<string, JsonObject>>();
  for (const { category, types } of survey.categories) {
    const mapped = map.streams.get(category);
    if (!mapped) continue;
    const events = aggregates.get(mapped.type) ?? new Map<string, JsonObject>();
    for (const { type, schema } of types) {
      const name = mapped.events.get(type);
      if (typeof name === "string") events.set(name, mergedSchema(events.get(name), schema));
    }
    if (events.size > 0) aggregates.set(mapped.type, events);
  }
  const { actor, target } = survey.parties;
  const agents = "type" in map.actor ? [map.actor.type] : [...actor, DEFAULT_ACTOR.type];
  const targets = map.target && ("type" in map.target ? [map.target.type] : target);
  return {
    agent_types: [...new Set(agents.filter((type) => !type.startsWith("system")))],
    ...(targets && { target_types: [...targets] }),
    aggregate_types: Object.fromEntries(
      [...aggregates].map(([type, events]) => [type, {
        events: Object.fromEntries(
          [...events].map(([name, schema]) => [name, {
            schema,
            handler: { merge: { target: "", value: "$.data" } },
          }]),
        ),
      }]),
    ),
  };
}

/** The schema of two types there that become one here. */
function mergedSchema(known: JsonObject | undefined, schema: JsonObject): JsonObject {
  if (known === undefined) return schema;
  return JSON.stringify(known) === JSON.stringify(schema) ? known : { anyOf: [known, schema] };
}

/** Fields of the file that the map drops, with the number of events that have them. */
export function lostFields(survey: Survey, map: MigrationMap): ReadonlyMap<string, number> {
  const used = new Set(map.keep.keys());
  for (const rule of [map.actor, map.target]) {
    if (rule !== undefined && "from" in rule) used.add(rule.from);
    if (rule !== undefined && "party" in rule) used.add(rule.party);
  }
  // A kept object is kept with everything in it.
  const isKept = (path: string) =>
    used.has(path) || [...used].some((each) => path.startsWith(`${each}.`));
  return new Map([...survey.fields].filter(([path]) => !isKept(path)));
}
