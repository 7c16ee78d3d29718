/** The stored event: its fields, their order, and the one place where it becomes bytes. */

import { Buffer } from "node:buffer";
import type { GeoStamp } from "./geo/point.ts";
import type { JsonObject } from "./json.ts";
import { closingQuote } from "./json_text/json_characters.ts";
import { parseStored } from "./json_text/name_cost.ts";
import { accept, ACCEPTED, type Outcome, refuse } from "./refusal.ts";

export interface PartyReference {
  readonly type: string;
  readonly id: string;
}

/** Set on an implied event: the event that caused it. */
export interface ImpliedBy {
  readonly key: string;
  readonly event_type: string;
  readonly stream_id: string;
  /** 1 when a client's event caused it, plus one for each event in between. */
  readonly depth: number;
}

/** Set on a scheduled event. `fire_at` is ISO 8601 UTC. */
export interface ScheduledStamp {
  readonly scheduled_id: string;
  readonly fire_at: string;
}

/** Set on an event that a saga wrote. */
export interface SagaStamp {
  readonly name: string;
  readonly saga_id: string;
  readonly step: string;
  readonly phase: "emit" | "compensate";
}

/** Set on an event that another system had before: what it was called there, and where it was. */
export interface Origin {
  /** The system or place that it is from. */
  readonly source: string;
  /** Its stream there, if the id here is not the one there. */
  readonly stream?: string;
  readonly id?: string;
  readonly time?: string;
  readonly position?: string;
  readonly correlation_id?: string;
  readonly causation_id?: string;
}

/**
 * Metadata stored beside the data. Field order is part of the format, because it enters every
 * hash.
 */
export interface StoredMetadata {
  readonly actor: PartyReference;
  readonly target?: PartyReference;
  readonly previous_length?: number;
  /** Unix seconds; always present. */
  readonly timestamp: number;
  readonly idempotency_key?: string;
  readonly implied_by?: ImpliedBy;
  readonly scheduled?: ScheduledStamp;
  readonly geo?: GeoStamp;
  readonly saga?: SagaStamp;
  readonly origin?: Origin;
}

export interface StoredEvent {
  /** `<aggregate_type>:<aggregate_id>`. */
  readonly key: string;
  readonly type: string;
  readonly data: JsonObject;
  readonly metadata: StoredMetadata;
}

/** An event as it is hashed, stored and returned as `raw`: one text, built once. */
export interface EncodedEvent {
  readonly type: string;
  readonly raw: string;
  /** Length of `raw` in UTF-8. */
  readonly bytes: number;
  /** The event's `metadata.geo`, for the index of points. */
  readonly geo?: GeoStamp;
  /** What `raw` says, where guards will look at it. */
  readonly decoded?: StoredEvent;
}

export interface EventTexts {
  readonly key: string;
  readonly type: string;
  readonly dataJson: string;
  readonly metadataJson: string;
  readonly geo?: GeoStamp;
  readonly decoded?: StoredEvent;
}

/**
 * The one place where an event becomes text: equal to `JSON.stringify({key, type, data,
 * metadata})`.
 *
 * `dataJson` and `metadataJson` come as text, because the size check has already encoded the
 * data and all events of a write share the metadata. `geo` repeats what the metadata says. JSON
 * escapes lone surrogates, so text and UTF-8 bytes correspond one to one.
 */
export function encodeEvent(
  { key, type, dataJson, metadataJson, geo, decoded }: EventTexts,
): EncodedEvent {
  const raw = `{"key":${JSON.stringify(key)},"type":${JSON.stringify(type)},` +
    `"data":${dataJson},"metadata":${metadataJson}}`;
  return { type, raw, bytes: Buffer.byteLength(raw), geo, decoded };
}

/** Metadata as JSON, in the field order that is part of the format. Absent fields are left out. */
export function encodeMetadata(metadata: StoredMetadata): string {
  return JSON.stringify(orderMetadata(metadata));
}

/** The same as it will be decoded. */
export function orderMetadata(metadata: StoredMetadata): StoredMetadata {
  const { actor, target, previous_length, timestamp, idempotency_key } = metadata;
  const { implied_by, scheduled, geo, saga, origin } = metadata;
  const ordered: { -readonly [Field in keyof StoredMetadata]?: StoredMetadata[Field] } = {
    actor: orderParty(actor),
  };
  if (target !== undefined) ordered.target = orderParty(target);
  if (previous_length !== undefined) ordered.previous_length = previous_length;
  ordered.timestamp = timestamp;
  if (idempotency_key !== undefined) ordered.idempotency_key = idempotency_key;
  if (implied_by !== undefined) ordered.implied_by = orderCause(implied_by);
  if (scheduled !== undefined) ordered.scheduled = orderSchedule(scheduled);
  if (geo !== undefined) ordered.geo = { type: geo.type, lat: geo.lat, lng: geo.lng };
  if (saga !== undefined) ordered.saga = orderSaga(saga);
  if (origin !== undefined) ordered.origin = orderOrigin(origin);
  return ordered as StoredMetadata;
}

function orderSchedule({ scheduled_id, fire_at }: ScheduledStamp): ScheduledStamp {
  return { scheduled_id, fire_at };
}

function orderParty({ type, id }: PartyReference): PartyReference {
  return { type, id };
}

function orderCause({ key, event_type, stream_id, depth }: ImpliedBy): ImpliedBy {
  return { key, event_type, stream_id, depth };
}

function orderSaga({ name, saga_id, step, phase }: SagaStamp): SagaStamp {
  return { name, saga_id, step, phase };
}

/** In the order that is part of the format. */
export const ORIGIN_FIELDS = [
  "source",
  "stream",
  "id",
  "time",
  "position",
  "correlation_id",
  "causation_id",
] as const;

function orderOrigin(origin: Origin): Origin {
  const ordered: { -readonly [Field in keyof Origin]?: Origin[Field] } = {};
  for (const field of ORIGIN_FIELDS) {
    const value = origin[field];
    if (value !== undefined) ordered[field] = value;
  }
  return ordered as Origin;
}

/** Parses the event in `raw`. */
export function decodeEvent(raw: string): StoredEvent {
  return parseStored(raw) as unknown as StoredEvent;
}

/** Where the key of an event begins in its text. */
const KEY_AT = '{"key":'.length;
const BEFORE_TYPE = ',"type":'.length;

/** The type of the event in `raw`, without parsing the rest. */
export function typeOfEvent(raw: string): string {
  const from = closingQuote(raw, KEY_AT) + 1 + BEFORE_TYPE;
  return parseStored(raw.slice(from, closingQuote(raw, from) + 1)) as string;
}

/** The opaque id of an event, and the `stream_id` of its write: the index as 12 decimal digits. */
export function eventId(index: number): string {
  return String(index).padStart(12, "0");
}

const EVENT_ID = /^[0-9]{12}$/;

/** The index in an event id, or undefined when the text is not an event id. */
export function parseEventId(id: string): number | undefined {
  return EVENT_ID.test(id) ? Number(id) : undefined;
}

/** The index of the event that `start` names, as sent; undefined if it is absent. */
export function parseStart(start: string | undefined): Outcome<number | undefined> {
  if (start === undefined) return ACCEPTED;
  const index = parseEventId(start);
  if (index !== undefined) return accept(index);
  const message = "start must be the id of an event, as a listing gives it";
  return refuse({ kind: "bad_request", message, path: "start" });
}
