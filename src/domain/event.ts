/** The stored event: its fields, their order, and the one place where it becomes bytes. */

import { Buffer } from "node:buffer";
import type { GeoStamp } from "./geo/attachment.ts";
import type { JsonObject } from "./json.ts";

export interface PartyReference {
  readonly type: string;
  readonly id: string;
}

/** On an implied event: the event that set it off. */
export interface ImpliedBy {
  readonly key: string;
  readonly event_type: string;
  readonly stream_id: string;
  /** 1 where a client's event set it off, one more for each event between. */
  readonly depth: number;
}

/** On an event that was scheduled. `fire_at` is ISO 8601 UTC. */
export interface ScheduledStamp {
  readonly scheduled_id: string;
  readonly fire_at: string;
}

/** On an event that a saga has written. */
export interface SagaStamp {
  readonly name: string;
  readonly saga_id: string;
  readonly step: string;
  readonly phase: "emit" | "compensate";
}

/** What is stored beside the data. Field order is part of the format: it enters every hash. */
export interface StoredMetadata {
  readonly actor: PartyReference;
  readonly target?: PartyReference;
  readonly previous_length?: number;
  /** Unix seconds; always there. */
  readonly timestamp: number;
  readonly idempotency_key?: string;
  readonly implied_by?: ImpliedBy;
  readonly scheduled?: ScheduledStamp;
  readonly geo?: GeoStamp;
  readonly saga?: SagaStamp;
}

export interface StoredEvent {
  /** `<aggregate_type>:<aggregate_id>`. */
  readonly key: string;
  readonly type: string;
  readonly data: JsonObject;
  readonly metadata: StoredMetadata;
}

/** An event as it is hashed, stored and returned as `raw`: one text, made once. */
export interface EncodedEvent {
  readonly type: string;
  readonly raw: string;
  /** Length of `raw` in UTF-8. */
  readonly bytes: number;
  /** Its `metadata.geo`, for the index of points. */
  readonly geo?: GeoStamp;
}

/**
 * The one place an event becomes text: equal to `JSON.stringify({key, type, data, metadata})`.
 * `dataJson` and `metadataJson` come ready, for the size check has made one and all events of a
 * write share the other; `geo` is what the metadata says of it. JSON escapes lone surrogates, so
 * text and UTF-8 bytes are one to one.
 */
export function encodeEvent(
  key: string,
  type: string,
  dataJson: string,
  metadataJson: string,
  geo?: GeoStamp,
): EncodedEvent {
  const raw = `{"key":${JSON.stringify(key)},"type":${JSON.stringify(type)},` +
    `"data":${dataJson},"metadata":${metadataJson}}`;
  return { type, raw, bytes: Buffer.byteLength(raw), geo };
}

/** Metadata as text, in the order that is part of the format. Absent fields are left out. */
export function encodeMetadata(metadata: StoredMetadata): string {
  const { actor, target, previous_length, timestamp, idempotency_key } = metadata;
  const { implied_by, scheduled, geo, saga } = metadata;
  return JSON.stringify({
    actor: { type: actor.type, id: actor.id },
    target: target && { type: target.type, id: target.id },
    previous_length,
    timestamp,
    idempotency_key,
    implied_by: implied_by && orderImpliedBy(implied_by),
    scheduled: scheduled && { scheduled_id: scheduled.scheduled_id, fire_at: scheduled.fire_at },
    geo: geo && { type: geo.type, lat: geo.lat, lng: geo.lng },
    saga: saga && orderSaga(saga),
  });
}

function orderImpliedBy({ key, event_type, stream_id, depth }: ImpliedBy): ImpliedBy {
  return { key, event_type, stream_id, depth };
}

function orderSaga({ name, saga_id, step, phase }: SagaStamp): SagaStamp {
  return { name, saga_id, step, phase };
}

/** The event that `raw` holds. */
export function decodeEvent(raw: string): StoredEvent {
  return JSON.parse(raw) as StoredEvent;
}

/** The opaque id of an event and `stream_id` of its write: its index as 12 decimal digits. */
export function eventId(index: number): string {
  return String(index).padStart(12, "0");
}

const EVENT_ID = /^[0-9]{12}$/;

/** The index that an event id names, or undefined when it is none. */
export function parseEventId(id: string): number | undefined {
  return EVENT_ID.test(id) ? Number(id) : undefined;
}
