/**
 * OpenAPI rows of writing and reading aggregates.
 *
 * See docs/reference/writing.md and docs/reference/reading.md.
 */

import { LATITUDE_MAX, LONGITUDE_MAX } from "../../../domain/geo/point.ts";
import { limits } from "../../../domain/limits.ts";
import type { ErrorName } from "../errors.ts";
import type { Operations } from "../operation.ts";
import {
  answer,
  array,
  BOOLEAN,
  choice,
  COUNT,
  FLAG,
  FREE_OBJECT,
  HEX_32,
  input,
  object,
  page,
  PAGING,
  ref,
  type Schema,
  SECONDS,
  TEXT,
} from "../schema.ts";

const STREAM_IDS = array(TEXT);
const EVENTS = array(ref("NewEvent"), { minItems: 1, maxItems: limits.batchEventsMax });
const KEYED = {
  "X-Idempotency-Key?": {
    type: "string",
    minLength: 1,
    maxLength: limits.idempotencyKeyCharactersMax,
  },
} as const satisfies Record<string, Schema>;

/** The refusals that every write may get. */
const WRITE: readonly ErrorName[] = [
  "event_type_reserved",
  "identifier_invalid",
  "metadata_invalid",
  "schema_validation",
  "idempotency_key_invalid",
  "idempotency_mismatch",
  "idempotency_in_progress",
  "handler_error",
  "module_failed",
  "modules_unavailable",
  "plan_limit",
];
const TYPES: readonly ErrorName[] = ["aggregate_type_unknown", "event_type_unknown"];
/** The refusals that a read of a state may get. */
const FOLD: readonly ErrorName[] = [
  "identifier_invalid",
  "fold_budget_exceeded",
  "handler_error",
  "module_failed",
  "modules_unavailable",
];

/** In the document only for types with an event that has a point. */
export const NEARBY = "GET /{type}/nearby";

export const DATA: Operations = {
  "POST /{type}/{id}/{event}": {
    id: "writeEvent",
    summary: "Writes one event",
    headers: KEYED,
    body: input({ data: ref("EventData"), metadata: ref("WriteMetadata") }),
    answers: { 201: answer({ stream_id: TEXT, "implied_count?": COUNT }) },
    errors: [...WRITE, ...TYPES, "occ_conflict"],
  },
  "POST /{type}/{id}": {
    id: "writeEvents",
    summary: "Writes several events to one aggregate: all or none",
    headers: KEYED,
    body: input({ events: EVENTS, metadata: ref("WriteMetadata") }),
    answers: { 201: answer({ stream_ids: STREAM_IDS, count: COUNT, "implied_count?": COUNT }) },
    errors: [...WRITE, ...TYPES, "occ_conflict", "write_invalid"],
  },
  "POST /_atomic-write": {
    id: "writeAtomically",
    summary: "Writes to up to ten aggregates: all or nothing",
    headers: KEYED,
    body: input({
      targets: array(
        input({ aggregate_type: TEXT, id: TEXT, events: EVENTS, "previous_length?": COUNT }),
        { minItems: 1, maxItems: limits.atomicTargetsMax },
      ),
      metadata: ref("WriteMetadata"),
    }),
    answers: {
      201: answer({
        written: COUNT,
        stream_ids: { type: "object", additionalProperties: STREAM_IDS },
      }),
    },
    errors: [
      ...WRITE,
      "target_type_unknown",
      "write_invalid",
      "occ_conflict_atomic",
      "implications_in_multi_write",
    ],
  },
  "GET /{type}/{id}": {
    id: "readAggregate",
    summary: "The state of an aggregate",
    isTagged: true,
    query: { "synchronous?": FLAG, "at?": SECONDS },
    answers: { 200: answer({ data: FREE_OBJECT, metadata: ref("AggregateMetadata") }) },
    errors: [...FOLD, "aggregate_type_unknown", "aggregate_missing"],
  },
  "GET /{type}/{id}/length": {
    id: "readLength",
    summary: "How many events an aggregate has",
    answers: { 200: answer({ length: COUNT }) },
    errors: ["aggregate_type_unknown", "identifier_invalid"],
  },
  "GET /{type}/{id}/events": {
    id: "readEvents",
    summary: "The events of an aggregate, paged, oldest first",
    isTagged: true,
    query: {
      "start?": TEXT,
      "count?": { type: "integer", minimum: 1, default: limits.eventsPageDefault },
      "direction?": { ...choice(["forwards", "backwards"]), default: "forwards" },
      "raw?": FLAG,
    },
    answers: {
      200: answer({
        data: array(object({ id: TEXT, hash: HEX_32, "event?": ref("Event"), "raw?": TEXT })),
        count_limit: COUNT,
        truncated: BOOLEAN,
        "truncated_by?": choice(["count", "bytes"]),
        "next_start?": TEXT,
        "count_clamped?": { const: true },
      }),
    },
    errors: ["aggregate_type_unknown", "identifier_invalid"],
  },
  "GET /{type}": {
    id: "listAggregates",
    summary: "The ids of one type, or their states",
    query: {
      ...PAGING,
      "cursor?": { type: "string", deprecated: true, description: "Older name of `start`" },
      "resolve?": FLAG,
      "synchronous?": FLAG,
    },
    answers: {
      200: withCursor(page({ anyOf: [TEXT, ref("ListedAggregate")] })),
    },
    errors: ["aggregate_type_unknown", "module_failed", "modules_unavailable"],
  },
  [NEARBY]: {
    id: "findNearby",
    summary: "The aggregates of one type around a point, the nearest first",
    query: {
      lat: degrees(LATITUDE_MAX),
      lng: degrees(LONGITUDE_MAX),
      "radius?": {
        type: "number",
        minimum: limits.nearbyRadiusMetresMin,
        maximum: limits.nearbyRadiusMetresMax,
        default: limits.nearbyRadiusMetresDefault,
        description: "Metres",
      },
      "limit?": PAGING["limit?"]!,
    },
    answers: {
      200: answer({
        data: array(object({
          id: TEXT,
          distance: { type: "number", minimum: 0, description: "Metres" },
          point: object({ lat: degrees(LATITUDE_MAX), lng: degrees(LONGITUDE_MAX) }),
        })),
        limit: COUNT,
        truncated: BOOLEAN,
        "limit_clamped?": { const: true },
      }),
    },
    errors: ["aggregate_type_unknown", "not_found"],
  },
};

function degrees(most: number): Schema {
  return { type: "number", minimum: -most, maximum: most };
}

function withCursor(schema: Schema): Schema {
  const cursor = { type: "string", deprecated: true, description: "The same as `next_start`" };
  return { ...schema, properties: { ...schema.properties as Schema, cursor } };
}
