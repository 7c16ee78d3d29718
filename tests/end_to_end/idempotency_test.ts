/**
 * The life cycle of an idempotency key, state by state, and the rules of its header. See
 * docs/reference/writing.md.
 */

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { faultyEngine } from "../support/faulty_engine.ts";
import { type Case, refusal, testCases } from "./cases.ts";
import { type SendOptions, withWorld, type World } from "./world.ts";
import { METADATA, noteBody } from "./world_spec.ts";

const PATH = "/note/global/was_written";
const DAY_MS = 24 * 3_600_000;
const MISMATCH = refusal(
  "idempotency_mismatch",
  "Idempotency key reused with different request body",
);

function keyed(body: unknown, key = "k1", more: SendOptions = {}): SendOptions {
  return { ...more, body, headers: { "x-idempotency-key": key, ...more.headers } };
}

async function lengthOf({ send }: World, path = "/note/global"): Promise<number> {
  return (await send("GET", `${path}/length`)).body.length;
}

const headerCases: readonly (readonly [string, string, string | undefined])[] = [
  ["an empty key is 422, exact text", "", "Idempotency key cannot be empty"],
  ["a key of 255 characters is taken", "k".repeat(255), undefined],
  [
    "a key longer than 255 is 422, exact text",
    "k".repeat(256),
    "Idempotency key exceeds 255 character limit",
  ],
  ["a key of one character is taken", "k", undefined],
  ["all printable ASCII from 0x21 to 0x7E is taken", printableAscii(), undefined],
  ["a space (0x20) within a key is taken", "a b", undefined],
  [
    "a key with a character beyond ASCII is 422, exact text",
    "clé",
    "Idempotency key contains invalid characters (must be printable ASCII)",
  ],
  [
    "a key with a tab is 422, exact text",
    "a\tb",
    "Idempotency key contains invalid characters (must be printable ASCII)",
  ],
  [
    "more than one header is 422, exact text",
    "a, b",
    "Multiple X-Idempotency-Key headers not allowed",
  ],
];
testCases(
  "X-Idempotency-Key",
  headerCases.map(([name, key, error]): Case => ({
    name,
    call: `POST ${PATH}`,
    ...keyed(noteBody("a"), key),
    status: error === undefined ? 201 : 422,
    answer: error === undefined ? undefined : refusal("bad_request", error),
  })),
);

function printableAscii(): string {
  return Array.from({ length: 0x7e - 0x20 }, (_, index) => String.fromCharCode(0x21 + index))
    .join("");
}

Deno.test("unseen, a write with the key and a 2xx: recorded, and stamped into metadata.idempotency_key", () =>
  withWorld(async ({ send }) => {
    const answer = await send("POST", PATH, keyed(noteBody("a")));
    assert.equal(answer.status, 201);
    assert.equal(answer.headers.get("x-idempotency-replayed"), null);
    const [entry] = (await send("GET", "/note/global/events")).body.data;
    assert.equal(entry.event.metadata.idempotency_key, "k1");
  }));

for (
  const [form, path, body] of [
    ["single", PATH, noteBody("a")],
    ["batch", "/note/global", { events: [{ type: "was_filed" }], metadata: METADATA }],
    ["atomic", "/_atomic-write", {
      targets: [{ aggregate_type: "note", id: "global", events: [{ type: "was_filed" }] }],
      metadata: METADATA,
    }],
  ] as const
) {
  Deno.test(`recorded, same key and body (${form}): the cached status, body and x-request-id, X-Idempotency-Replayed, no event`, () =>
    withWorld(async (world) => {
      const first = await world.send("POST", path, keyed(body));
      const again = await world.send("POST", path, keyed(body));
      assert.equal(again.status, first.status);
      assert.equal(again.text, first.text);
      assert.equal(again.headers.get("x-request-id"), first.headers.get("x-request-id"));
      assert.equal(first.headers.get("x-idempotency-replayed"), null);
      assert.equal(again.headers.get("x-idempotency-replayed"), "true");
      assert.equal(await lengthOf(world), 1);
    }));
}

Deno.test("recorded, same body: keys are sorted at every level and white space does not count", () =>
  withWorld(async (world) => {
    const one = '{"data":{"text":"a","b":{"x":1,"y":[{"p":1,"q":2}]}},' +
      '"metadata":{"actor":{"type":"user","id":"global"}}}';
    const other = '{ "metadata": {"actor": {"id":"global","type":"user"}},\n' +
      ' "data": {"b":{"y":[{"q":2,"p":1}],"x":1},"text":"a"} }';
    assert.equal((await world.send("POST", PATH, keyed(one))).status, 201);
    const again = await world.send("POST", PATH, keyed(other));
    assert.equal(again.headers.get("x-idempotency-replayed"), "true");
    assert.equal(await lengthOf(world), 1);
  }));

const others: readonly (readonly [string, unknown])[] = [
  ["other data", noteBody("b")],
  ["other metadata", noteBody("a", { timestamp: 1 })],
  ["another order in a list", { ...noteBody("a"), data: { list: [2, 1] } }],
  ["a body that the schema would refuse", { data: 5, metadata: METADATA }],
  ["a body with an unknown field", { ...noteBody("a"), extra: 1 }],
  ["a body without data and metadata", {}],
  ["a body of another form", { events: [], metadata: METADATA }],
];
for (const [name, body] of others) {
  Deno.test(`recorded, same key and ${name}: 422, exact text, and nothing is written`, () =>
    withWorld(async (world) => {
      await world.send("POST", PATH, keyed({ ...noteBody("a"), data: { list: [1, 2] } }));
      for (const path of [PATH, "/note/global", "/_atomic-write"]) {
        const answer = await world.send("POST", path, keyed(body));
        assert.equal(answer.status, 422, answer.text);
        assert.deepEqual(answer.body, MISMATCH);
        assert.equal(answer.headers.get("x-idempotency-replayed"), null);
      }
      assert.equal(await lengthOf(world), 1);
    }));
}

Deno.test("recorded: the same key with the body that was recorded is answered on any path", () =>
  withWorld(async (world) => {
    const first = await world.send("POST", PATH, keyed(noteBody("a")));
    for (const path of ["/note/main/was_written", "/note/main", "/_atomic-write", "/x/y/z"]) {
      const again = await world.send("POST", path, keyed(noteBody("a")));
      assert.deepEqual([again.status, again.text], [201, first.text], path);
    }
    assert.equal(await lengthOf(world, "/note/main"), 0);
  }));

Deno.test("recorded: malformed JSON stays 400, for there is no body to compare", () =>
  withWorld(async ({ send }) => {
    await send("POST", PATH, keyed(noteBody("a")));
    assert.equal((await send("POST", PATH, keyed('{"data":'))).status, 400);
  }));

Deno.test("the ledger is evaluated before OCC: a replay does not compare the guard", () =>
  withWorld(async (world) => {
    const body = noteBody("a", { previous_length: 0 });
    const first = await world.send("POST", PATH, keyed(body));
    await world.send("POST", PATH, { body: noteBody("b") });
    const again = await world.send("POST", PATH, keyed(body));
    assert.deepEqual([again.status, again.text], [201, first.text]);
    assert.equal(await lengthOf(world), 2);
  }));

Deno.test("a recorded key answers even where a later spec refuses its body", () =>
  withWorld(async (world) => {
    const first = await world.send("POST", PATH, keyed(noteBody("a")));
    const spec = { agent_types: ["someone"], aggregate_types: {} };
    const deployed = await world.send("POST", `/api/instances/${world.instanceId}/spec`, {
      body: { environment: "test", spec, force: true },
    });
    assert.equal(deployed.status, 200, deployed.text);
    const again = await world.send("POST", PATH, keyed(noteBody("a")));
    assert.deepEqual([again.status, again.text], [201, first.text]);
    assert.equal((await world.send("POST", PATH, keyed(noteBody("b")))).status, 422);
    assert.equal((await world.send("POST", PATH, keyed(noteBody("b"), "k2"))).status, 404);
  }));

Deno.test("original still executing, a duplicate: 409 with Retry-After 1, exact text; then the replay", () =>
  withWorld(async (world) => {
    const options = keyed(noteBody("a"));
    const [first, second] = await Promise.all([
      world.send("POST", PATH, options),
      world.send("POST", PATH, options),
    ]);
    assert.deepEqual([first.status, second.status], [201, 409]);
    assert.equal(second.headers.get("retry-after"), "1");
    const text = "Request with this idempotency key is still being processed";
    assert.deepEqual(second.body, refusal("idempotency_in_progress", text));
    const third = await world.send("POST", PATH, options);
    assert.equal(third.text, first.text);
    assert.equal(await lengthOf(world), 1);
  }));

Deno.test("original still executing, a duplicate with a body that is no write: 409 as well", () =>
  withWorld(async (world) => {
    const [first, second] = await Promise.all([
      world.send("POST", PATH, keyed(noteBody("a"))),
      world.send("POST", PATH, keyed({ ...noteBody("a"), extra: 1 })),
    ]);
    assert.deepEqual([first.status, second.status], [201, 409]);
  }));

const failures: readonly (readonly [string, string, unknown, number])[] = [
  ["400", PATH, { data: 1, metadata: METADATA }, 400],
  ["400 of shape", PATH, { ...noteBody("a"), extra: 1 }, 400],
  ["404", "/parcel/global/x", noteBody("a"), 404],
  ["409", PATH, noteBody("a", { previous_length: 5 }), 409],
  ["413", PATH, noteBody("x".repeat(102_401)), 413],
  ["422", PATH, noteBody("a", { colour: 1 }), 422],
];
for (const [name, path, body, status] of failures) {
  Deno.test(`a write that fails with ${name} records nothing: the key may be retried freely`, () =>
    withWorld(async (world) => {
      assert.equal((await world.send("POST", path, keyed(body))).status, status);
      const retried = await world.send("POST", PATH, keyed(noteBody("fixed")));
      assert.deepEqual([retried.status, retried.headers.get("x-idempotency-replayed")], [
        201,
        null,
      ]);
    }));
}

Deno.test("the store cannot be reached: 503, nothing recorded, and the key may be retried", () => {
  let away = false;
  const wrap = (engine: World["engine"]) => faultyEngine(engine, [], { isAway: () => away });
  return withWorld(async (world) => {
    away = true;
    const failed = await world.send("POST", PATH, keyed(noteBody("a")));
    assert.equal(failed.status, 503);
    away = false;
    const retried = await world.send("POST", PATH, keyed(noteBody("b")));
    assert.deepEqual([retried.status, retried.headers.get("x-idempotency-replayed")], [201, null]);
  }, { wrap });
});

Deno.test("a record lives 24 hours, rolling with each use of the key", () =>
  withWorld(async (world) => {
    const { host, send } = world;
    // Here neither tokens nor keys expire, only the record does.
    await send("POST", PATH, keyed(noteBody("a")));
    for (let turn = 0; turn < 3; turn++) {
      host.timeMs += DAY_MS - 1_000;
      const again = await send("POST", PATH, keyed(noteBody("a")));
      assert.equal(again.headers.get("x-idempotency-replayed"), "true", `use ${turn}`);
    }
    host.timeMs += DAY_MS;
    const expired = await send("POST", PATH, keyed(noteBody("b")));
    assert.deepEqual([expired.status, expired.headers.get("x-idempotency-replayed")], [201, null]);
    assert.equal(await lengthOf(world), 2);
  }));

Deno.test("a key belongs to instance and environment, not to the stream", () =>
  withWorld(async ({ send }) => {
    await send("POST", PATH, keyed(noteBody("a")));
    const elsewhere = await send(
      "POST",
      PATH,
      keyed(noteBody("b"), "k1", { environment: "staging" }),
    );
    assert.equal(elsewhere.status, 201);
    const stream = await send("POST", "/note/main/was_written", keyed(noteBody("b")));
    assert.equal(stream.status, 422);
  }));

Deno.test("a replay after a refusal in between is still the first answer", () =>
  withWorld(async ({ send }) => {
    const first = await send("POST", PATH, keyed(noteBody("a")));
    await send("POST", PATH, keyed(noteBody("b")));
    assert.equal((await send("POST", PATH, keyed(noteBody("a")))).text, first.text);
  }));

Deno.test("a client's own x-request-id is the one that the replay carries", () =>
  withWorld(async ({ send }) => {
    const first = keyed(noteBody("a"), "k1", { headers: { "x-request-id": "mine-1" } });
    await send("POST", PATH, first);
    const second = keyed(noteBody("a"), "k1", { headers: { "x-request-id": "mine-2" } });
    assert.equal((await send("POST", PATH, second)).headers.get("x-request-id"), "mine-1");
  }));

Deno.test("reads take no notice of X-Idempotency-Key", () =>
  withWorld(async ({ send }) => {
    const headers = { "x-idempotency-key": Buffer.from("é").toString("latin1") };
    assert.equal((await send("GET", "/note/global", { headers })).status, 200);
  }));
