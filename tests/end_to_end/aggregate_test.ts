/** `GET /{aggregate_type}/{aggregate_id}` and `/length`: read form, states, past states. */

import assert from "node:assert/strict";
import { type Case, refusal, type Step, testCases } from "./cases.ts";
import { START, withWorld, type World } from "./world.ts";
import { METADATA, noteBody, uuid } from "./world_spec.ts";

const NOTE = `/note/${uuid(1)}`;
const MISSING = refusal("not_found", "Aggregate not found");
const EMPTY = { ok: true, data: {}, metadata: { length: 0, created_at: null, updated_at: null } };

function wrote(text: string, timestamp?: number): Step {
  const body = noteBody(text, timestamp === undefined ? {} : { timestamp });
  return { call: `POST ${NOTE}/was_written`, body };
}

testCases("an aggregate", [
  {
    name: "answers {ok, data, metadata: {length, created_at, updated_at}}",
    after: [wrote("a"), wrote("b")],
    call: `GET ${NOTE}`,
    status: 200,
    answer: {
      ok: true,
      data: { texts: ["a", "b"] },
      metadata: { length: 2, created_at: START, updated_at: START },
    },
  },
  {
    name: "has created_at of its first and updated_at of its latest event, in Unix seconds",
    after: [wrote("a", 10), wrote("b", 99), wrote("c", 50)],
    call: `GET ${NOTE}`,
    status: 200,
    answer: {
      ok: true,
      data: { texts: ["a", "b", "c"] },
      metadata: { length: 3, created_at: 10, updated_at: 50 },
    },
  },
  {
    name: "without events is 404 Aggregate not found",
    call: `GET ${NOTE}`,
    status: 404,
    answer: MISSING,
  },
  {
    name: "without events is 404 for a humane code too",
    call: "GET /note/ABCDEFGHJ",
    status: 404,
    answer: MISSING,
  },
  {
    name: "without events is 404 for a tagged UUID too",
    call: `GET ${NOTE}:a`,
    status: 404,
    answer: MISSING,
  },
  {
    name: "of a singleton without events is 200, empty data, length 0, both times null (global)",
    call: "GET /note/global",
    status: 200,
    answer: EMPTY,
  },
  {
    name: "of a singleton without events is 200, empty data, length 0, both times null (declared)",
    call: "GET /note/main",
    status: 200,
    answer: EMPTY,
  },
  {
    name: "of a singleton without events is the same with synchronous",
    call: "GET /note/main?synchronous=true",
    status: 200,
    answer: EMPTY,
  },
  {
    name: "of a type outside the spec is 404",
    call: `GET /parcel/${uuid(1)}`,
    status: 404,
    answer: refusal("not_found", "Aggregate type 'parcel' not found in spec"),
  },
  {
    name: "with a malformed id is 422 with path key",
    call: "GET /note/nowhere",
    status: 422,
    answer:
      /"error_type":"identifier_invalid","path":"key","docs":"\/_docs\/errors\/identifier_invalid"\}$/,
  },
  {
    name: "with an unknown type and a malformed id is 404: the type is looked at first",
    call: "GET /parcel/nowhere",
    status: 404,
  },
  {
    name: "of which no event has changed the state has empty data",
    after: [{ call: `POST ${NOTE}/was_filed`, body: { data: {}, metadata: METADATA } }],
    call: `GET ${NOTE}`,
    status: 200,
    answer: {
      ok: true,
      data: {},
      metadata: { length: 1, created_at: START, updated_at: START },
    },
  },
  {
    name: "is found by any spelling of its id",
    after: [wrote("a")],
    call: `GET ${NOTE.toLowerCase().replace("5b3e", "5B3E")}`,
    status: 200,
  },
]);

const FLAGS: readonly (readonly [text: string, status: number])[] = [
  ["synchronous=true", 200],
  ["synchronous=1", 200],
  ["synchronous=", 200],
  ["synchronous", 200],
  ["synchronous=false", 200],
  ["synchronous=0", 200],
  ["synchronous=yes", 400],
  ["synchronous=TRUE", 400],
  ["synchronous=2", 400],
];
testCases(
  "an aggregate",
  FLAGS.map(([query, status]): Case => ({
    name: `?${query} is ${status}`,
    after: [wrote("a")],
    call: `GET ${NOTE}?${query}`,
    status,
    answer: status === 200 ? /"texts":\["a"\]/ : refusal(
      "bad_request",
      "Query parameter 'synchronous' must be true or false",
      { path: "synchronous" },
    ),
  })),
);

const history = [wrote("a", 10), wrote("b", 30), wrote("c", 20)];
const PAST: readonly (readonly [at: number, texts: string[], created: number, updated: number])[] =
  [
    [10, ["a"], 10, 10],
    [19, ["a"], 10, 10],
    [20, ["a", "c"], 10, 20],
    [29, ["a", "c"], 10, 20],
    [30, ["a", "b", "c"], 10, 20],
    [9_999_999_999, ["a", "b", "c"], 10, 20],
  ];
const PAST_LENGTHS: readonly [number, string[], number | null, number | null][] = [
  [0, [], null, null],
  [1, ["a"], 10, 10],
  [2, ["a", "b"], 10, 30],
  [3, ["a", "b", "c"], 10, 20],
];

testCases("an aggregate", [
  ...PAST.map(([at, texts, created_at, updated_at]): Case => ({
    name: `?at=${at} folds the events with timestamp <= ${at}, in stream order`,
    after: history,
    call: `GET ${NOTE}?at=${at}`,
    status: 200,
    answer: {
      ok: true,
      data: { texts },
      metadata: { length: texts.length, created_at, updated_at },
    },
  })),
  {
    name: "?at before its first event is 404",
    after: history,
    call: `GET ${NOTE}?at=9`,
    status: 404,
    answer: MISSING,
  },
  ...PAST_LENGTHS.map(([length, texts, created_at, updated_at]): Case => ({
    name: `?at_length=${length} folds the first ${length} events`,
    after: history,
    call: `GET ${NOTE}?at_length=${length}`,
    status: 200,
    answer: {
      ok: true,
      data: texts.length === 0 ? {} : { texts },
      metadata: { length, created_at, updated_at },
    },
  })),
  {
    name: "?at_length beyond its events is 422 with their number",
    after: history,
    call: `GET ${NOTE}?at_length=4`,
    status: 422,
    answer: refusal("bad_request", "The aggregate has 3 events, so there is no state after 4", {
      path: "at_length",
      current_length: 3,
    }),
  },
  ...[0, 1].map((length): Case => ({
    name: `?at_length=${length} without events is 404`,
    call: `GET ${NOTE}?at_length=${length}`,
    status: 404,
    answer: MISSING,
  })),
  {
    name: "?at_length=0 of a singleton without events is 200 and empty",
    call: "GET /note/global?at_length=0",
    status: 200,
    answer: EMPTY,
  },
  {
    name: "?at_length=1 of a singleton without events is 422",
    call: "GET /note/global?at_length=1",
    status: 422,
    answer: /"error_type":"bad_request","path":"at_length","current_length":0/,
  },
  ...["at=10", "live=sse", "live=long-poll"].map((other): Case => ({
    name: `?at_length=1&${other} is 400`,
    after: history,
    call: `GET ${NOTE}?at_length=1&${other}`,
    status: 400,
    answer: /"error_type":"bad_request","path":"at_length"/,
  })),
  ...["-1", "1.5", "", "now", "1e3"].map((at): Case => ({
    name: `?at=${at} is 400`,
    call: `GET ${NOTE}?at=${at}`,
    status: 400,
    answer: /"error_type":"bad_request","path":"at"/,
  })),
]);

testCases("a length", [
  {
    name: "answers {ok, length}",
    after: [wrote("a"), wrote("b")],
    call: `GET ${NOTE}/length`,
    status: 200,
    answer: { ok: true, length: 2 },
  },
  {
    name: "without events is 0 and 200",
    call: `GET ${NOTE}/length`,
    status: 200,
    answer: { ok: true, length: 0 },
  },
  {
    name: "of an unknown type is 404",
    call: "GET /parcel/global/length",
    status: 404,
    answer: refusal("not_found", "Aggregate type 'parcel' not found in spec"),
  },
  {
    name: "of a malformed id is 422 with path key",
    call: "GET /note/nowhere/length",
    status: 422,
    answer: /"path":"key"/,
  },
]);

Deno.test("a length is what previous_length takes", () =>
  withWorld(async ({ send }) => {
    for (let turn = 0; turn < 3; turn++) {
      const { length } = (await send("GET", `${NOTE}/length`)).body;
      const body = noteBody("a", { previous_length: length });
      assert.equal((await send("POST", `${NOTE}/was_written`, { body })).status, 201);
    }
  }));

for (const path of ["/note/main", "/tally/main"]) {
  Deno.test(`each read is as current as the last write (${path}), cached or never_cache`, () =>
    withWorld(async ({ send }) => {
      const write = path === "/note/main" ? "was_written" : "was_raised";
      for (let length = 1; length <= 5; length++) {
        await send("POST", `${path}/${write}`, { body: noteBody("a") });
        for (const query of ["", "?synchronous=true"]) {
          const { body } = await send("GET", path + query);
          assert.equal(body.metadata.length, length);
          assert.equal(body.data.count ?? body.data.texts.length, length);
        }
      }
    }));
}

const BATCH_EVENTS = 78;
const BATCHES = 5;
const TEXT = "x".repeat(100_000);

/** Five batches of 7.8 MB: more than a synchronous read may fold, less than a state may be. */
async function writeTooMuch({ send }: World, path: string): Promise<void> {
  const events = Array.from({ length: BATCH_EVENTS }, () => ({
    type: "was_filed",
    data: { text: TEXT },
  }));
  for (let turn = 0; turn < BATCHES; turn++) {
    const answer = await send("POST", path, { body: { events, metadata: METADATA } });
    assert.equal(answer.status, 201, answer.text.slice(0, 200));
  }
}

Deno.test("more than 33,554,432 bytes: synchronous is 422 fold_budget_exceeded and the hint says how to read it, with resolve only that entry", () =>
  withWorld(async (world) => {
    const { send, service } = world;
    await send("POST", "/note/AAAAAAAAA/was_written", { body: noteBody("small") });
    await writeTooMuch(world, "/note/BBBBBBBBB");
    await send("POST", "/note/CCCCCCCCC/was_written", { body: noteBody("small") });

    const refused = await send("GET", "/note/BBBBBBBBB?synchronous=true");
    assert.equal(refused.status, 422);
    const { error_type: errorType, bytes, limit } = refused.body;
    assert.deepEqual([errorType, limit], ["fold_budget_exceeded", 33_554_432]);
    assert.ok(Number.isInteger(bytes) && bytes > limit, String(bytes));
    assert.deepEqual(
      Object.keys(refused.body).toSorted(),
      ["bytes", "docs", "error", "error_type", "hint", "limit", "ok"],
    );
    assert.match(refused.body.hint, /^Read it without `synchronous` and `at`/);

    const { body: page } = await send("GET", "/note?resolve&synchronous");
    const metadata = { length: 1, created_at: START, updated_at: START };
    assert.deepEqual(page.data, [
      { id: "AAAAAAAAA", data: { texts: ["small"] }, metadata },
      { id: "BBBBBBBBB", error: "fold_budget_exceeded" },
      { id: "CCCCCCCCC", data: { texts: ["small"] }, metadata },
    ]);
    assert.equal(page.truncated, false);

    // Background rebuilds run in bounded slices and are not refused.
    for (let turn = 0; turn < 100 && await service.background.rebuildSnapshots(10) > 0; turn++);
    const read = await send("GET", "/note/BBBBBBBBB");
    assert.equal(read.status, 200, read.text.slice(0, 200));
    assert.equal(read.body.metadata.length, BATCH_EVENTS * BATCHES);
    assert.equal((await send("GET", "/note/BBBBBBBBB?synchronous=true")).status, 422);
  }));
