/** `POST /_atomic-write`: events to several aggregates, all or none. */

import assert from "node:assert/strict";
import { type Case, refusal, testCases } from "./cases.ts";
import { withWorld } from "./world.ts";
import { METADATA, noteBody, uuid } from "./world_spec.ts";

const CALL = "POST /_atomic-write";
const WRITTEN = { type: "was_written", data: { text: "a" } };

function target(id: string, change: object = {}): object {
  return { aggregate_type: "note", id, events: [WRITTEN], ...change };
}

function atomic(targets: unknown, metadata: object = {}): object {
  return { targets, metadata: { ...METADATA, ...metadata } };
}

function targets(count: number): object[] {
  return Array.from({ length: count }, (_, index) => target(uuid(index)));
}

testCases("an atomic write", [
  {
    name: "answers 201 {ok, written, stream_ids} by stream key, written counting all events",
    call: CALL,
    body: atomic([
      target("global", { events: [WRITTEN, WRITTEN] }),
      target("global", { aggregate_type: "tally", events: [{ type: "was_raised", data: {} }] }),
    ]),
    status: 201,
    answer: {
      ok: true,
      written: 3,
      stream_ids: {
        "note:global": ["000000000000", "000000000001"],
        "tally:global": ["000000000000"],
      },
    },
  },
  {
    name: "answers canonical ids in stream_ids",
    call: CALL,
    body: atomic([target("oil000001")]),
    status: 201,
    answer: { ok: true, written: 1, stream_ids: { "note:011000001": ["000000000000"] } },
  },
  { name: "takes 1 target", call: CALL, body: atomic(targets(1)), status: 201 },
  { name: "takes 10 targets", call: CALL, body: atomic(targets(10)), status: 201 },
  {
    name: "takes data left out as {}",
    call: CALL,
    body: atomic([target("global", { events: [{ type: "was_filed" }] })]),
    status: 201,
  },
  {
    name: "takes metadata.target and metadata.timestamp as a single write does",
    call: CALL,
    body: atomic(targets(1), { target: { type: "customer", id: "global" }, timestamp: 3 }),
    status: 201,
  },
  {
    name: "whose guard holds is written",
    after: [{ call: "POST /note/global/was_written", body: noteBody("a") }],
    call: CALL,
    body: atomic([
      target("global", { previous_length: 1 }),
      target("main", { previous_length: 0 }),
    ]),
    status: 201,
  },
  {
    name: "with a conflict is 409 with the contract's fields and error_type",
    after: [{ call: "POST /note/main/was_written", body: noteBody("a") }],
    call: CALL,
    body: atomic([
      target("global", { previous_length: 0 }),
      target("main", { previous_length: 4 }),
    ]),
    status: 409,
    answer: {
      ok: false,
      error: "occ_conflict",
      error_type: "occ_conflict",
      key: "note:main",
      current_length: 1,
      expected_length: 4,
      docs: "/_docs/errors/occ_conflict",
    },
  },
  {
    name: "with a duplicate aggregate is 422 with target_index",
    call: CALL,
    body: atomic([target("global"), target("main"), target("global")]),
    status: 422,
    answer: /"error_type":"bad_request".*"target_index":2/,
  },
  {
    name: "with a duplicate aggregate in another spelling is 422 with target_index",
    call: CALL,
    body: atomic([target(uuid(171)), target(uuid(171).toUpperCase())]),
    status: 422,
    answer: /"target_index":1/,
  },
  {
    name: "may name the same id of two aggregate types",
    call: CALL,
    body: atomic([
      target("global"),
      target("global", { aggregate_type: "tally", events: [{ type: "was_raised" }] }),
    ]),
    status: 201,
  },
]);

const manyEvents = Array.from({ length: 5_001 }, () => ({ type: "was_filed" }));
const faults: readonly (readonly [string, unknown, RegExp])[] = [
  ["without targets is 422", undefined, /"path":"targets"/],
  ["whose targets are no array is 422", {}, /"path":"targets"/],
  ["of 0 targets is 422", [], /"path":"targets"/],
  ["of 11 targets is 422", targets(11), /"path":"targets"/],
  ["with a target that is no object is 422", [target("global"), 7], /"target_index":1/],
  [
    "without aggregate_type is 422 with target_index",
    [{ id: "global", events: [WRITTEN] }],
    /"path":"targets\.0\.aggregate_type","target_index":0/,
  ],
  [
    "without id is 422 with target_index",
    [{ aggregate_type: "note", events: [WRITTEN] }],
    /"path":"targets\.0\.id","target_index":0/,
  ],
  ["with an empty events is 422", [target("global", { events: [] })], /"target_index":0/],
  ["without events is 422", [target("global", { events: undefined })], /"target_index":0/],
  ...[null, [], [{}], "text", 7].map((data) =>
    [
      `with an event whose data is ${JSON.stringify(data)} is 422 with target_index`,
      [target("main"), target("global", { events: [WRITTEN, { ...WRITTEN, data }] })],
      /data must be an object.*"path":"targets\.1\.events\.1\.data","target_index":1,"event_index":1/,
    ] as const
  ),
  ["with an unknown field in a target is 422", [target("global", { x: 1 })], /"target_index":0/],
  [
    "with an unknown aggregate type is 422 with target_index",
    [target("main"), target("global", { aggregate_type: "parcel" })],
    /Aggregate type 'parcel' not found in spec.*"target_index":1/,
  ],
  [
    "with an unknown event type is 422 with target_index and event_index",
    [target("main"), target("global", { events: [WRITTEN, { type: "was_sent" }] })],
    /Event type 'was_sent' not found in spec for aggregate 'note'.*"target_index":1,"event_index":1/,
  ],
  [
    "with a type beginning with _ is 422 with target_index",
    [target("global", { events: [{ type: "_x" }] })],
    /Event types beginning with '_' are reserved.*"target_index":0/,
  ],
  [
    "with a malformed id is 422 with path key and target_index",
    [target("main"), target("nowhere")],
    /"error_type":"identifier_invalid","path":"key","target_index":1/,
  ],
  [
    "with data that the schema refuses is 422 with target_index",
    [target("global", { aggregate_type: "order", events: [{ type: "was_placed" }] })],
    /Event data failed schema validation.*"path":"data\.customer","target_index":0,"event_index":0/,
  ],
  ...[-1, 1.5, "0", null].map((guard) =>
    [
      `with previous_length ${JSON.stringify(guard)} is 422 with target_index`,
      [target("main"), target("global", { previous_length: guard })],
      /"path":"targets\.1\.previous_length","target_index":1/,
    ] as const
  ),
  [
    "of more than 10,000 events in all is 422",
    [target("global", { events: manyEvents }), target("main", { events: manyEvents })],
    /at most 10000 events in all/,
  ],
];
testCases(
  "an atomic write",
  faults.map(([name, sent, answer]): Case => ({
    name,
    call: CALL,
    body: atomic(sent),
    status: 422,
    answer,
  })),
);

testCases("the metadata of an atomic write", [
  {
    name: "is required",
    call: CALL,
    body: { targets: targets(1) },
    status: 400,
    answer: refusal("bad_request", "metadata is required", { path: "metadata" }),
  },
  {
    name: "needs an actor",
    call: CALL,
    body: { targets: targets(1), metadata: {} },
    status: 400,
    answer: refusal("bad_request", "metadata.actor is required", { path: "metadata.actor" }),
  },
  {
    name: "has no other fields, exact text",
    call: CALL,
    body: atomic(targets(1), { colour: 1 }),
    status: 422,
    answer: refusal("metadata_invalid", "Unknown metadata field: colour", {
      path: "metadata.colour",
    }),
  },
  {
    name: "has no previous_length, for the guard belongs to the target",
    call: CALL,
    body: atomic(targets(1), { previous_length: 0 }),
    status: 422,
    answer: /"error_type":"metadata_invalid","path":"metadata\.previous_length"/,
  },
  {
    name: "skip_occ beside a target's previous_length is 422 with path metadata.skip_occ",
    call: CALL,
    body: atomic([target("global", { previous_length: 0 })], { skip_occ: true }),
    status: 422,
    answer: /"path":"metadata\.skip_occ"/,
  },
]);

Deno.test("an atomic write with one conflict writes nothing anywhere", () =>
  withWorld(async ({ send }) => {
    const body = atomic([target("global"), target("main", { previous_length: 1 })]);
    assert.equal((await send("POST", "/_atomic-write", { body })).status, 409);
    for (const id of ["global", "main"]) {
      assert.deepEqual((await send("GET", `/note/${id}/length`)).body, { ok: true, length: 0 });
    }
  }));

Deno.test("an atomic write validates all targets before it writes any", () =>
  withWorld(async ({ send }) => {
    const body = atomic([target("global"), target("main", { events: [{ type: "was_sent" }] })]);
    assert.equal((await send("POST", "/_atomic-write", { body })).status, 422);
    assert.deepEqual((await send("GET", "/note/global/length")).body, { ok: true, length: 0 });
  }));

Deno.test("the first event of each guarded target stores previous_length, the others have none", () =>
  withWorld(async ({ send }) => {
    const events = [WRITTEN, WRITTEN];
    const body = atomic([target("global", { events, previous_length: 0 }), target("main")]);
    assert.equal((await send("POST", "/_atomic-write", { body })).status, 201);
    const guarded = (await send("GET", "/note/global/events")).body.data;
    // Absent and 0 are distinct.
    assert.equal(guarded[0].event.metadata.previous_length, 0);
    assert.ok(!("previous_length" in guarded[1].event.metadata));
    const free = (await send("GET", "/note/main/events")).body.data;
    assert.ok(!("previous_length" in free[0].event.metadata));
  }));

Deno.test("an atomic write takes X-Idempotency-Key and stamps it into every event", () =>
  withWorld(async ({ send }) => {
    const options = {
      body: atomic([target("global"), target("main")]),
      headers: { "x-idempotency-key": "both" },
    };
    const first = await send("POST", "/_atomic-write", options);
    const again = await send("POST", "/_atomic-write", options);
    assert.equal(again.text, first.text);
    assert.equal(again.headers.get("x-idempotency-replayed"), "true");
    for (const id of ["global", "main"]) {
      const { data } = (await send("GET", `/note/${id}/events`)).body;
      assert.equal(data.length, 1);
      assert.equal(data[0].event.metadata.idempotency_key, "both");
    }
  }));
