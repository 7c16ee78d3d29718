/** The named schemas of the OpenAPI document, shared by several calls. */

import { limits } from "../../domain/limits.ts";
import {
  BOOLEAN,
  choice,
  COUNT,
  FREE_OBJECT,
  HEX_32,
  input,
  object,
  ORIGIN,
  type Schema,
  SECONDS,
  TEXT,
  TIME,
} from "./schema.ts";

const PARTY = { type: TEXT, id: TEXT };
const EVENT_REFERENCE = { key: TEXT, event_type: TEXT, stream_id: TEXT };
/** Null only for a singleton without events. */
const NULLABLE_SECONDS: Schema = { ...SECONDS, type: ["integer", "null"] };
const AGGREGATE_METADATA = object({
  length: COUNT,
  created_at: NULLABLE_SECONDS,
  updated_at: NULLABLE_SECONDS,
});

export const SCHEMAS: Readonly<Record<string, Schema>> = {
  EventData: {
    type: "object",
    additionalProperties: true,
    description: `At most ${limits.eventDataBytesMax} bytes of JSON, valid by the event type's ` +
      "schema",
  },
  NewEvent: input({ type: TEXT, "data?": { $ref: "#/components/schemas/EventData" } }),
  WriteMetadata: writeMetadata(TEXT, TEXT),
  Precondition: input({
    key: { type: "string", description: "`<aggregate_type>:<aggregate_id>`" },
    "length?": { ...COUNT, description: "How many events it has. One of the three is there" },
    "exists?": { ...BOOLEAN, description: "Whether it has events" },
    "require?": { ...FREE_OBJECT, description: "A predicate over its state" },
  }),
  EventReference: object(EVENT_REFERENCE),
  Event: object({
    key: { type: "string", description: "`<aggregate_type>:<aggregate_id>`" },
    type: TEXT,
    data: FREE_OBJECT,
    metadata: object({
      actor: object(PARTY),
      "target?": object(PARTY),
      "previous_length?": COUNT,
      timestamp: SECONDS,
      "idempotency_key?": TEXT,
      "implied_by?": object({ ...EVENT_REFERENCE, depth: { type: "integer", minimum: 1 } }),
      "scheduled?": object({ scheduled_id: TEXT, fire_at: TIME }),
      "geo?": object({ type: TEXT, lat: { type: "number" }, lng: { type: "number" } }),
      "saga?": object({
        name: TEXT,
        saga_id: TEXT,
        step: TEXT,
        phase: choice(["emit", "compensate"]),
      }),
      "origin?": object(ORIGIN),
    }),
  }),
  CloudEvent: object({
    specversion: { const: "1.0" },
    id: { type: "string", description: "`<aggregate_type>:<aggregate_id>/<place in the stream>`" },
    source: { type: "string", description: "`/instances/<instance_id>/<environment>`" },
    type: { type: "string", description: "`<aggregate_type>.<event_type>`" },
    subject: { type: "string", description: "`<aggregate_type>:<aggregate_id>`" },
    time: TIME,
    datacontenttype: { const: "application/json" },
    streamindex: COUNT,
    chainhash: HEX_32,
    actor: TEXT,
    "target?": TEXT,
    data: FREE_OBJECT,
  }),
  AggregateMetadata: AGGREGATE_METADATA,
  ListedAggregate: object({
    id: TEXT,
    "data?": FREE_OBJECT,
    "metadata?": AGGREGATE_METADATA,
    "error?": { type: "string", description: "Why this one cannot be read" },
  }),
  ErrorRecord: object({
    error_id: TEXT,
    error_type: TEXT,
    message: TEXT,
    context: FREE_OBJECT,
    request_id: TEXT,
    occurred_at: TIME,
  }),
  Import: object({
    import_id: TEXT,
    form: choice(["import", "import_jsonl", "cold_start"]),
    state: choice(["running", "complete"]),
    written: COUNT,
    lines: COUNT,
    bytes: COUNT,
    started_at: TIME,
    updated_at: TIME,
  }),
  Anchor: object({
    format: { const: 2 },
    id: TEXT,
    instance_id: TEXT,
    environment: TEXT,
    merkle_root: HEX_32,
    event_count: COUNT,
    stream_count: COUNT,
    created_at: TIME,
    signature: TEXT,
    public_key: HEX_32,
  }),
};

/** The `metadata` of a write, given the schemas of the types of actor and target. */
export function writeMetadata(actorType: Schema, targetType: Schema): Schema {
  return input({
    actor: input({ type: actorType, id: TEXT }),
    "target?": input({ type: targetType, id: TEXT }),
    "previous_length?": { ...COUNT, description: "The write lands only at this length" },
    "skip_occ?": BOOLEAN,
    "timestamp?": { ...SECONDS, description: "Staging and test only" },
  });
}
