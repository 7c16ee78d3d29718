/**
 * Limits: for each the last value that passes and the first that does not. See
 * docs/reference/limits.md.
 */

import assert from "node:assert/strict";
import { type Case, refusal, testCases } from "./cases.ts";
import { withWorld } from "./world.ts";
import { METADATA } from "./world_spec.ts";

const CALL = "POST /note/global/was_written";
const DATA_MAX = 102_400;

/** Data whose JSON has exactly this many bytes. */
function dataOf(bytes: number, character = "x"): object {
  const room = bytes - '{"text":""}'.length;
  const size = new TextEncoder().encode(character).length;
  return { text: character.repeat(room / size) + "x".repeat(room % size) };
}

const TOO_LARGE = refusal("payload_too_large", "Event data exceeds 102400 bytes of JSON", {
  path: "data",
  limit: DATA_MAX,
});

testCases("event data", [
  ...["x", "é", "€", "😀"].flatMap((character): Case[] => [
    {
      name: `of 102,400 bytes (${character}) is written`,
      call: CALL,
      body: { data: dataOf(DATA_MAX, character), metadata: METADATA },
      status: 201,
    },
    {
      name: `of 102,401 bytes (${character}) is 413`,
      call: CALL,
      body: { data: dataOf(DATA_MAX + 1, character), metadata: METADATA },
      status: 413,
      answer: TOO_LARGE,
    },
  ]),
  {
    name: "too large in a batch is 413 with event_index",
    call: "POST /note/global",
    body: {
      events: [{ type: "was_filed" }, { type: "was_filed", data: dataOf(DATA_MAX + 1) }],
      metadata: METADATA,
    },
    status: 413,
    answer: /"error_type":"payload_too_large","path":"data","event_index":1,"limit":102400/,
  },
  {
    name: "too large in an atomic write is 413 with target_index",
    call: "POST /_atomic-write",
    body: {
      targets: [{
        aggregate_type: "note",
        id: "global",
        events: [{ type: "was_filed", data: dataOf(DATA_MAX + 1) }],
      }],
      metadata: METADATA,
    },
    status: 413,
    answer: /"target_index":0,"event_index":0,"limit":102400/,
  },
  {
    name: "is measured as JSON, not as it was sent: white space does not count",
    call: CALL,
    body: `{"data":{"text":"a"${" ".repeat(200_000)}},"metadata":${JSON.stringify(METADATA)}}`,
    status: 201,
  },
]);

const BODY_MAX = 8 * 1024 * 1024;

function padded(bytes: number): string {
  const text = JSON.stringify({ data: { text: "a" }, metadata: METADATA });
  return text.slice(0, -1) + " ".repeat(bytes - text.length) + "}";
}

testCases("a request's body", [
  { name: "of 8 MiB is read", call: CALL, body: padded(BODY_MAX), status: 201 },
  {
    name: "of one byte more is 413 with limit",
    call: CALL,
    body: padded(BODY_MAX + 1),
    status: 413,
    answer: refusal("payload_too_large", `Request body exceeds ${BODY_MAX} bytes`, {
      limit: BODY_MAX,
    }),
  },
]);

Deno.test("what one write stores is at most 8,000,000 bytes: beyond it 413 with limit, nothing written", () =>
  withWorld(async ({ send }) => {
    const events = Array.from({ length: 79 }, () => ({
      type: "was_filed",
      data: dataOf(101_400),
    }));
    const refused = await send("POST", "/note/global", { body: { events, metadata: METADATA } });
    assert.equal(refused.status, 413);
    assert.deepEqual(
      [refused.body.error_type, refused.body.limit],
      ["payload_too_large", 8_000_000],
    );
    assert.equal((await send("GET", "/note/global/length")).body.length, 0);
    const body = { events: events.slice(1), metadata: METADATA };
    assert.equal((await send("POST", "/note/global", { body })).status, 201);
  }));

for (const [levels, status] of [[1_000, 200], [1_001, 422]]) {
  const wrap = { schema: true, handler: { set: { target: "", value: { inner: "@" } } } };
  const types = { box: { events: { was_wrapped: wrap } } };
  const spec = { agent_types: ["user"], aggregate_types: types };
  Deno.test(`a state of ${levels} levels is ${status}${status === 422 ? " fold_budget_exceeded" : ""}`, () =>
    withWorld(async ({ send }) => {
      // The empty state is one level.
      const events = Array.from({ length: levels! - 1 }, () => ({ type: "was_wrapped" }));
      const written = await send("POST", "/box/global", { body: { events, metadata: METADATA } });
      assert.equal(written.status, 201);
      const answer = await send("GET", "/box/global");
      assert.equal(answer.status, status, answer.text.slice(0, 200));
      if (status === 422) assert.equal(answer.body.error_type, "fold_budget_exceeded");
    }, { spec }));
}
