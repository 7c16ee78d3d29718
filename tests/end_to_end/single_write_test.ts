/**
 * `POST /{aggregate_type}/{aggregate_id}/{event_type}`, case by case. See
 * docs/reference/writing.md.
 */

import { type Case, refusal, testCases } from "./cases.ts";
import { ACTOR, METADATA, noteBody, uuid } from "./world_spec.ts";

const CALL = "POST /note/global/was_written";
const PLACE = "POST /order/global/was_placed";

const accepted: Case[] = [
  {
    name: "answers 201 {ok, stream_id}, without implied_count where it is 0",
    call: CALL,
    body: noteBody("a"),
    status: 201,
    answer: { ok: true, stream_id: "000000000000" },
  },
  {
    name: "appends: the second event of a stream has the next stream_id",
    after: [{ call: CALL, body: noteBody("a") }],
    call: CALL,
    body: noteBody("b"),
    status: 201,
    answer: { ok: true, stream_id: "000000000001" },
  },
  {
    name: "metadata takes all five writable fields where they may stand together",
    call: CALL,
    body: noteBody("a", {
      target: { type: "customer", id: uuid(1) },
      skip_occ: true,
      timestamp: 5,
    }),
    status: 201,
  },
  {
    name: "extra properties of data are stored unvalidated where the schema allows them",
    call: CALL,
    body: { data: { text: "a", extra: { deep: [1] } }, metadata: METADATA },
    status: 201,
  },
  {
    name: "Content-Type may carry charset=utf-8",
    call: CALL,
    body: noteBody("a"),
    headers: { "content-type": "application/json; charset=utf-8" },
    status: 201,
  },
];
testCases("a single write", accepted);

const TYPE_404 = refusal("not_found", "Aggregate type 'parcel' not found in spec");
const EVENT_404 = refusal(
  "not_found",
  "Event type 'was_sent' not found in spec for aggregate 'note'",
);
const RESERVED = refusal("bad_request", "Event types beginning with '_' are reserved");

testCases("checks before persisting", [
  {
    name: "1. an aggregate type that the spec does not have is 404",
    call: "POST /parcel/global/was_written",
    body: noteBody("a"),
    status: 404,
    answer: TYPE_404,
  },
  {
    name: "2. an event type that the aggregate type does not have is 404, exact text",
    call: "POST /note/global/was_sent",
    body: noteBody("a"),
    status: 404,
    answer: EVENT_404,
  },
  {
    name: "2. an event type of another aggregate type is 404",
    call: "POST /note/global/was_raised",
    body: noteBody("a"),
    status: 404,
  },
  {
    name: "an event type beginning with _ is 422 though the spec declares it",
    call: "POST /order/global/_was_tombstoned",
    body: { data: {}, metadata: METADATA },
    status: 422,
    answer: RESERVED,
  },
  {
    name: "an event type beginning with _ is 422 where the spec does not declare it",
    call: "POST /note/global/_anything",
    body: noteBody("a"),
    status: 422,
    answer: RESERVED,
  },
  {
    name: "3. an actor type outside agent_types is 422 with path metadata.actor.type",
    call: CALL,
    body: { data: {}, metadata: { actor: { type: "ghost", id: "global" } } },
    status: 422,
    answer: refusal(
      "metadata_invalid",
      "metadata.actor.type 'ghost' is not in the spec's agent_types",
      { path: "metadata.actor.type" },
    ),
  },
  {
    name: "3. an actor id that is no identifier is 422 with path metadata.actor.id",
    call: CALL,
    body: { data: {}, metadata: { actor: { type: "user", id: "nobody" } } },
    status: 422,
    answer: /"error_type":"identifier_invalid","path":"metadata\.actor\.id"/,
  },
  {
    name: "4. a target type outside target_types is 422 with path metadata.target.type",
    call: CALL,
    body: { data: {}, metadata: { actor: ACTOR, target: { type: "ship", id: "global" } } },
    status: 422,
    answer: refusal(
      "metadata_invalid",
      "metadata.target.type 'ship' is not in the spec's target_types",
      { path: "metadata.target.type" },
    ),
  },
  {
    name: "4. a target id that is no identifier is 422 with path metadata.target.id",
    call: CALL,
    body: { data: {}, metadata: { actor: ACTOR, target: { type: "customer", id: "x" } } },
    status: 422,
    answer: /"error_type":"identifier_invalid","path":"metadata\.target\.id"/,
  },
  {
    name: "5. data that the schema refuses is 422, exact text, the first path, and details",
    call: PLACE,
    body: { data: { customer: "Ada", lines: [{ qty: "one" }] }, metadata: METADATA },
    status: 422,
    answer:
      /^\{"ok":false,"error":"Event data failed schema validation","error_type":"schema_validation","path":"data\.lines\.0\.qty","details":\[\{"path":"data\.lines\.0\.qty","message":"[^"]+"\}\],"docs":"\/_docs\/errors\/schema_validation"\}$/,
  },
  {
    name: "5. a missing property is told by its own path",
    call: PLACE,
    body: { data: {}, metadata: METADATA },
    status: 422,
    answer: /"path":"data\.customer"/,
  },
  {
    name: "5. a missing property within a list is told by its own path",
    call: PLACE,
    body: { data: { customer: "Ada", lines: [{ qty: 1 }, {}] }, metadata: METADATA },
    status: 422,
    answer: /"path":"data\.lines\.1\.qty"/,
  },
  {
    name: "5. a property that additionalProperties: false forbids is told by its path",
    call: PLACE,
    body: { data: { customer: "Ada", extra: 1 }, metadata: METADATA },
    status: 422,
    answer: /"path":"data\.extra"/,
  },
  {
    name: "5. format is asserted",
    call: PLACE,
    body: { data: { customer: "Ada", lines: [{ qty: 1, on: "2026-02-30" }] }, metadata: METADATA },
    status: 422,
    answer: /"path":"data\.lines\.0\.on"/,
  },
  {
    name: "6. an aggregate id that is no identifier is 422 with path key",
    call: "POST /note/nowhere/was_written",
    body: noteBody("a"),
    status: 422,
    answer:
      /"error_type":"identifier_invalid","path":"key","docs":"\/_docs\/errors\/identifier_invalid"\}$/,
  },
]);

function metadataCase(name: string, field: string, value: unknown, text: string): Case {
  return {
    name,
    call: CALL,
    body: { data: {}, metadata: { ...METADATA, [field]: value } },
    status: 422,
    answer: refusal("metadata_invalid", text, { path: `metadata.${field}` }),
  };
}

const PAIR = "must be an object {type, id}";
const COUNT = "must be a non-negative integer";

testCases("write metadata", [
  ...["idempotency_key", "implied_by", "scheduled", "geo", "saga"].map((field) =>
    metadataCase(
      `${field} is platform-stamped: 422, exact text`,
      field,
      "x",
      `metadata.${field} is platform-stamped and cannot be set on writes`,
    )
  ),
  metadataCase("any other field is 422, exact text", "colour", 1, "Unknown metadata field: colour"),
  metadataCase(
    "constructor is an unknown field like any other",
    "constructor",
    1,
    "Unknown metadata field: constructor",
  ),
  metadataCase("an actor that is no object is 422", "actor", "user", `metadata.actor ${PAIR}`),
  metadataCase("a target that is no object is 422", "target", [], `metadata.target ${PAIR}`),
  metadataCase("a target of null is 422", "target", null, `metadata.target ${PAIR}`),
  ...[-1, 1.5, "1", null, true].map((value) =>
    metadataCase(
      `previous_length ${JSON.stringify(value)} is 422`,
      "previous_length",
      value,
      `metadata.previous_length ${COUNT}`,
    )
  ),
  ...["yes", 1, null].map((value) =>
    metadataCase(
      `skip_occ ${JSON.stringify(value)} is 422`,
      "skip_occ",
      value,
      "metadata.skip_occ must be a boolean",
    )
  ),
  ...[-1, 0.5, "0", null, []].map((value) =>
    metadataCase(
      `timestamp ${JSON.stringify(value)} is 422, exact text`,
      "timestamp",
      value,
      `metadata.timestamp ${COUNT} (Unix seconds)`,
    )
  ),
  {
    name: "actor missing is 400 metadata.actor is required",
    call: CALL,
    body: { data: {}, metadata: {} },
    status: 400,
    answer: refusal("bad_request", "metadata.actor is required", { path: "metadata.actor" }),
  },
  {
    name: "an unknown field is told before a missing actor",
    call: CALL,
    body: { data: {}, metadata: { colour: 1 } },
    status: 422,
  },
  {
    name: "missing is 400",
    call: CALL,
    body: { data: {} },
    status: 400,
    answer: refusal("bad_request", "metadata is required", { path: "metadata" }),
  },
  ...[null, [], "x", 1].map((metadata): Case => ({
    name: `${JSON.stringify(metadata)} is 400`,
    call: CALL,
    body: { data: {}, metadata },
    status: 400,
    answer: refusal("bad_request", "metadata must be an object", { path: "metadata" }),
  })),
  {
    name: "an actor without id is 422 with path metadata.actor.id",
    call: CALL,
    body: { data: {}, metadata: { actor: { type: "user" } } },
    status: 422,
    answer: refusal("metadata_invalid", "metadata.actor.id must be a string", {
      path: "metadata.actor.id",
    }),
  },
  {
    name: "an actor without type is 422 with path metadata.actor.type",
    call: CALL,
    body: { data: {}, metadata: { actor: { id: "global" } } },
    status: 422,
    answer: refusal("metadata_invalid", "metadata.actor.type must be a string", {
      path: "metadata.actor.type",
    }),
  },
  {
    name: "an actor with a field more is 422 with its path",
    call: CALL,
    body: { data: {}, metadata: { actor: { ...ACTOR, name: "Ada" } } },
    status: 422,
    answer: /"path":"metadata\.actor\.name"/,
  },
  {
    name: "skip_occ where the event type does not allow it is 422 with path metadata.skip_occ",
    call: "POST /note/global/was_filed",
    body: { data: {}, metadata: { ...METADATA, skip_occ: true } },
    status: 422,
    answer: refusal(
      "metadata_invalid",
      "Event type 'was_filed' does not declare allow_skip_occ: true",
      { path: "metadata.skip_occ" },
    ),
  },
  {
    name: "skip_occ beside previous_length is 422 with path metadata.skip_occ",
    call: CALL,
    body: noteBody("a", { skip_occ: true, previous_length: 0 }),
    status: 422,
    answer: refusal(
      "metadata_invalid",
      "metadata.skip_occ cannot be combined with metadata.previous_length",
      { path: "metadata.skip_occ" },
    ),
  },
  {
    name: "skip_occ false is allowed on any event type",
    call: "POST /note/global/was_filed",
    body: { data: {}, metadata: { ...METADATA, skip_occ: false } },
    status: 201,
  },
]);

testCases("metadata.timestamp", [
  ...[0, 5, Date.UTC(2040) / 1000].map((timestamp): Case => ({
    name: `${timestamp} is accepted in test`,
    call: CALL,
    body: noteBody("a", { timestamp }),
    status: 201,
  })),
  {
    name: "is accepted in staging",
    call: CALL,
    environment: "staging",
    body: noteBody("a", { timestamp: 5 }),
    status: 201,
  },
  ...[5, -1, "x"].map((timestamp): Case => ({
    name: `${JSON.stringify(timestamp)} in production is 422, exact text`,
    call: CALL,
    environment: "production",
    body: noteBody("a", { timestamp }),
    status: 422,
    answer: refusal(
      "metadata_invalid",
      "metadata.timestamp is only accepted in non-production environments",
      { path: "metadata.timestamp" },
    ),
  })),
]);

testCases("data", [
  {
    name: "missing is 400",
    call: CALL,
    body: { metadata: METADATA },
    status: 400,
    answer: refusal("bad_request", "data is required", { path: "data" }),
  },
  ...[null, [], "x", 1, true].map((data): Case => ({
    name: `${JSON.stringify(data)} is 400`,
    call: CALL,
    body: { data, metadata: METADATA },
    status: 400,
    answer: refusal("bad_request", "data must be an object", { path: "data" }),
  })),
  {
    name: "an unknown field beside data and metadata is 400",
    call: CALL,
    body: { ...noteBody("a"), meta: 1 },
    status: 400,
    answer: refusal("bad_request", "Unknown field: meta", {
      path: "meta",
      hint: 'The event\'s own fields belong in `data`: {"data": {...}, "metadata": {...}}',
    }),
  },
]);

const CONFLICT = "Concurrent write detected. Stream has 1 events, expected 0.";

testCases("previous_length", [
  {
    name: "equal to the length writes",
    after: [{ call: CALL, body: noteBody("a") }],
    call: CALL,
    body: noteBody("b", { previous_length: 1 }),
    status: 201,
    answer: { ok: true, stream_id: "000000000001" },
  },
  {
    name: "0 on an empty stream writes",
    call: CALL,
    body: noteBody("a", { previous_length: 0 }),
    status: 201,
  },
  {
    name: "other than the length is 409, exact text",
    after: [{ call: CALL, body: noteBody("a") }],
    call: CALL,
    body: noteBody("b", { previous_length: 0 }),
    status: 409,
    answer: refusal("occ_conflict", CONFLICT, { current_length: 1, expected_length: 0 }),
  },
  {
    name: "beyond the length is 409, exact text",
    call: CALL,
    body: noteBody("b", { previous_length: 3 }),
    status: 409,
    answer: refusal(
      "occ_conflict",
      "Concurrent write detected. Stream has 0 events, expected 3.",
      { current_length: 0, expected_length: 3 },
    ),
  },
]);
