/** `POST /{aggregate_type}/{aggregate_id}`: several events to one aggregate, all or none. */

import assert from "node:assert/strict";
import { type Case, refusal, testCases } from "./cases.ts";
import { withWorld } from "./world.ts";
import { METADATA, noteBody } from "./world_spec.ts";

const CALL = "POST /note/global";
const WRITTEN = { type: "was_written", data: { text: "a" } };

function batch(events: unknown, metadata: object = {}): object {
  return { events, metadata: { ...METADATA, ...metadata } };
}

testCases("a batch write", [
  {
    name: "answers 201 {ok, stream_ids, count}, without implied_count where it is 0",
    call: CALL,
    body: batch([WRITTEN, WRITTEN]),
    status: 201,
    answer: { ok: true, stream_ids: ["000000000000", "000000000001"], count: 2 },
  },
  {
    name: "of one event answers as a batch",
    call: CALL,
    body: batch([WRITTEN]),
    status: 201,
    answer: { ok: true, stream_ids: ["000000000000"], count: 1 },
  },
  {
    name: "data may be absent: it is {}",
    call: CALL,
    body: batch([{ type: "was_filed" }]),
    status: 201,
  },
  {
    name: "previous_length guards the whole: equal writes all",
    after: [{ call: `${CALL}/was_written`, body: noteBody("a") }],
    call: CALL,
    body: batch([WRITTEN, WRITTEN], { previous_length: 1 }),
    status: 201,
    answer: { ok: true, stream_ids: ["000000000001", "000000000002"], count: 2 },
  },
  {
    name: "previous_length guards the whole: another is 409, exact text",
    call: CALL,
    body: batch([WRITTEN, WRITTEN], { previous_length: 1 }),
    status: 409,
    answer: refusal(
      "occ_conflict",
      "Concurrent write detected. Stream has 0 events, expected 1.",
      { current_length: 0, expected_length: 1 },
    ),
  },
  {
    name: "timestamp in production is 422, exact text",
    call: CALL,
    environment: "production",
    body: batch([WRITTEN], { timestamp: 1 }),
    status: 422,
    answer: /metadata\.timestamp is only accepted in non-production environments/,
  },
  {
    name: "skip_occ must be allowed by each event type",
    call: CALL,
    body: batch([WRITTEN, { type: "was_filed" }], { skip_occ: true }),
    status: 422,
    answer: /Event type 'was_filed' does not declare allow_skip_occ: true/,
  },
  {
    name: "metadata is required",
    call: CALL,
    body: { events: [WRITTEN] },
    status: 400,
    answer: refusal("bad_request", "metadata is required", { path: "metadata" }),
  },
]);

const tenThousandAndOne = Array.from({ length: 10_001 }, () => ({ type: "was_filed" }));
const faults: readonly (readonly [string, unknown, number, string, RegExp])[] = [
  ["of no events is 400", [], 400, "bad_request", /"path":"events"/],
  ["of 10,001 events is 422", tenThousandAndOne, 422, "bad_request", /at most 10000 events/],
  ["whose events are no array is 400", {}, 400, "bad_request", /"path":"events"/],
  ["without events is 400", undefined, 400, "bad_request", /events is required/],
  ["with an event that is no object is 400", [WRITTEN, 1], 400, "bad_request", /"event_index":1/],
  ["with an event without type is 400", [{ data: {} }], 400, "bad_request", /"event_index":0/],
  [
    "with an unknown field in an event is 400",
    [{ ...WRITTEN, metadata: {} }],
    400,
    "bad_request",
    /"event_index":0/,
  ],
  [
    "with an unknown event type is 404 with event_index",
    [WRITTEN, { type: "was_sent" }],
    404,
    "not_found",
    /Event type 'was_sent' not found in spec for aggregate 'note'.*"event_index":1/,
  ],
  [
    "with a type beginning with _ is 422 with event_index",
    [WRITTEN, { type: "_x" }],
    422,
    "bad_request",
    /Event types beginning with '_' are reserved.*"event_index":1/,
  ],
  [
    "with data that is no object is 400 with event_index",
    [WRITTEN, { type: "was_filed", data: [] }],
    400,
    "bad_request",
    /data must be an object.*"event_index":1/,
  ],
];
testCases(
  "a batch",
  faults.map(([name, events, status, errorType, text]): Case => ({
    name,
    call: CALL,
    body: batch(events),
    status,
    answer: new RegExp(`(?=.*"error_type":"${errorType}")(?=.*${text.source})`),
  })),
);

testCases("a batch", [{
  name: "with data that the schema refuses is 422, exact text, path and event_index",
  call: "POST /order/global",
  body: batch([{ type: "was_paid" }, { type: "was_placed" }]),
  status: 422,
  answer:
    /"error":"Event data failed schema validation".*"path":"data\.customer","event_index":1,"details"/,
}]);

Deno.test("a batch with one invalid event writes nothing", () =>
  withWorld(async ({ send }) => {
    const refused = await send("POST", "/note/global", { body: batch([WRITTEN, { type: "x" }]) });
    assert.equal(refused.status, 404);
    assert.deepEqual((await send("GET", "/note/global/length")).body, { ok: true, length: 0 });
  }));

Deno.test("a batch of 10,000 events is written and counted", () =>
  withWorld(async ({ send }) => {
    const body = batch(tenThousandAndOne.slice(1));
    const answer = await send("POST", "/note/global", { body });
    assert.equal(answer.status, 201, answer.text.slice(0, 200));
    assert.equal(answer.body.count, 10_000);
    assert.equal(answer.body.stream_ids.length, 10_000);
    assert.equal(new Set(answer.body.stream_ids).size, 10_000);
    assert.deepEqual((await send("GET", "/note/global/length")).body, { ok: true, length: 10_000 });
  }));

Deno.test("in a batch the one timestamp applies to every event", () =>
  withWorld(async ({ send }) => {
    await send("POST", "/note/global", { body: batch([WRITTEN, WRITTEN], { timestamp: 77 }) });
    const { body } = await send("GET", "/note/global/events");
    const times = body.data.map(({ event }: { event: { metadata: { timestamp: number } } }) =>
      event.metadata.timestamp
    );
    assert.deepEqual(times, [77, 77]);
  }));

Deno.test("only the first event of a guarded batch stores previous_length", () =>
  withWorld(async ({ send }) => {
    await send("POST", "/note/global", { body: batch([WRITTEN, WRITTEN], { previous_length: 0 }) });
    const { body } = await send("GET", "/note/global/events");
    assert.equal(body.data[0].event.metadata.previous_length, 0);
    assert.ok(!("previous_length" in body.data[1].event.metadata));
  }));
