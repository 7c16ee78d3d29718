/**
 * Imports of events on the wire: paths, bodies, refusals, progress. See
 * docs/reference/imports.md.
 */

import assert from "node:assert/strict";
import { readPieces } from "../../src/http/imports/file_body.ts";
import { refusal } from "./cases.ts";
import { START, withWorld, type World } from "./world.ts";
import { ACTOR, uuid } from "./world_spec.ts";

const IMPORT = "/_admin/import";
const LINES = "/_admin/import_jsonl";
const NDJSON = { "content-type": "application/x-ndjson" };

function event(stream: number, text: string) {
  const metadata = { actor: ACTOR, timestamp: 1_000_000_000 };
  return { key: `note:${uuid(stream)}`, type: "was_written", data: { text }, metadata };
}

function lines(...events: readonly unknown[]): string {
  return events.map((each) => `${JSON.stringify(each)}\n`).join("");
}

function post(world: World, path: string, body: unknown, headers: Record<string, string> = NDJSON) {
  return world.send("POST", path, { token: world.operator, headers, body });
}

const AT = new Date(START * 1000).toISOString();

/** An import as answers show it. */
function viewOf(fields: object) {
  const view = { form: "import_jsonl", state: "complete", started_at: AT, updated_at: AT };
  return { ...view, ...fields };
}

Deno.test("POST /_admin/import answers what it wrote, and what there is of the import", () =>
  withWorld(async (world) => {
    const body = { import_id: "load-1", events: [event(1, "a"), event(2, "b")] };
    const first = await post(world, IMPORT, body, {});
    const bytes = new TextEncoder().encode(lines(...body.events)).length;
    const told = viewOf({ import_id: "load-1", form: "import", written: 2, lines: 2, bytes });
    assert.deepEqual([first.status, first.body], [200, { ok: true, written: 2, import: told }]);
    const again = await post(world, IMPORT, body, {});
    assert.deepEqual(again.body, { ok: true, written: 0, import: told });
    const read = await world.send("GET", `/note/${uuid(1)}`);
    assert.deepEqual(read.body.data, { texts: ["a"] });
    const { created_at, updated_at } = read.body.metadata;
    assert.deepEqual([created_at, updated_at], [1_000_000_000, 1_000_000_000]);
    const found = await world.send("GET", "/_admin/imports/load-1", { token: world.operator });
    assert.deepEqual(found.body, { ok: true, import: told });
  }));

Deno.test("an import without an import_id gets one, which its answer and the list tell", () =>
  withWorld(async (world) => {
    const { body } = await post(world, LINES, lines(event(1, "a")));
    assert.match(body.import.import_id, /^[0-9a-f-]{36}$/);
    const listed = await world.send("GET", "/_admin/imports?limit=1", { token: world.operator });
    assert.deepEqual(listed.body.data, [body.import]);
    assert.deepEqual([listed.body.limit, listed.body.truncated], [1, false]);
  }));

Deno.test("imports are listed by their ids, page by page", () =>
  withWorld(async (world) => {
    for (const id of ["c", "a", "b"]) {
      await post(world, `${LINES}?import_id=${id}`, lines(event(1, id)));
    }
    const ids: string[] = [];
    for (let start = ""; start !== undefined;) {
      const path = `/_admin/imports?limit=2&start=${start}`;
      const { body } = await world.send("GET", path, { token: world.operator });
      ids.push(...body.data.map((each: { import_id: string }) => each.import_id));
      start = body.next_start;
    }
    assert.deepEqual(ids, ["a", "b", "c"]);
    const none = await world.send("GET", "/_admin/imports/d", { token: world.operator });
    assert.deepEqual([none.status, none.body], [404, refusal("not_found", "Import not found")]);
  }));

Deno.test("a file without its length is refused: the runtime would take in all of it", () =>
  withWorld(async (world) => {
    const chunked = { ...NDJSON, "transfer-encoding": "chunked" };
    for (const path of [LINES, "/_admin/cold_start"]) {
      const { status, body } = await post(world, path, lines(event(1, "a")), chunked);
      const message = "Transfer-Encoding: chunked is not supported here; send the file with its " +
        "Content-Length";
      assert.deepEqual([status, body], [400, refusal("bad_request", message)]);
    }
  }));

Deno.test("production takes imports too, in the environment that the query or the body names", () =>
  withWorld(async (world) => {
    const jsonl = `${LINES}?environment=prod&instance_id=${world.instanceId}`;
    assert.equal((await post(world, jsonl, lines(event(1, "a")))).status, 200);
    const body = { environment: "production", events: [event(1, "b")] };
    assert.equal((await post(world, IMPORT, body, {})).status, 200);
    const environment = "production";
    const read = await world.send("GET", `/note/${uuid(1)}`, { environment });
    assert.deepEqual(read.body.data, { texts: ["a", "b"] });
  }));

Deno.test("a line that is refused is named with the rule; those before it are stored", () =>
  withWorld(async (world) => {
    const good = lines(event(1, "a"));
    const bytes = new TextEncoder().encode(good).length;
    const told = viewOf({ import_id: "x", state: "running", written: 1, lines: 1, bytes });
    const unknown = await post(
      world,
      `${LINES}?import_id=x`,
      good + lines({ ...event(1, "b"), type: "was_eaten" }),
    );
    const text = "Event type 'was_eaten' not found in spec for aggregate 'note'";
    assert.deepEqual(
      [unknown.status, unknown.body],
      [422, refusal("not_found", text, { line: 2, written: 1, import: told })],
    );
    const broken = await post(world, `${LINES}?import_id=x`, `${good}\n{"key":`);
    const position = "Malformed JSON at position 7: unexpected end";
    assert.deepEqual(
      [broken.status, broken.body.error, broken.body.line, broken.body.written],
      [400, position, 3, 0],
    );
    const schema = await post(world, `${LINES}?import_id=z`, lines({ ...event(1, "b"), data: 1 }));
    assert.deepEqual(
      [schema.status, schema.body.error_type, schema.body.path, schema.body.line],
      [400, "bad_request", "data", 1],
    );
  }));

Deno.test("POST /_admin/import names the event by its place, and writes none where one is refused", () =>
  withWorld(async (world) => {
    const events = [event(1, "a"), { ...event(1, "b"), key: "note:x" }];
    const { status, body } = await post(world, IMPORT, { events }, {});
    assert.deepEqual([status, body.error_type, body.path, body.event_index], [
      422,
      "identifier_invalid",
      "key",
      1,
    ]);
    assert.equal(body.line, undefined);
    assert.equal((await world.send("GET", `/note/${uuid(1)}/length`)).body.length, 0);
  }));

const WRONG: readonly [
  name: string,
  path: string,
  body: unknown,
  headers: Record<string, string>,
  status: number,
  error: string,
][] = [
  ["JSON as its type", LINES, "{}", { "content-type": "application/json" }, 400, "Content-Type"],
  ["a coding", LINES, "{}", { ...NDJSON, "content-encoding": "gzip" }, 400, "Content-Encoding"],
  ["no byte", LINES, "", NDJSON, 400, "Request body is empty"],
  ["a byte order mark", LINES, "\ufeff{}", NDJSON, 400, "byte order mark"],
  ["a list on a line", LINES, "[]", NDJSON, 400, "The line must be a JSON object"],
  ["a bad import_id", `${LINES}?import_id=a%20b`, "{}", NDJSON, 400, "import_id"],
  ["a bad flag", `${LINES}?progress=maybe`, "{}", NDJSON, 400, "progress"],
  ["a file that is too long", LINES, "{}", { ...NDJSON, "content-length": "99999999999" }, 413, ""],
  ["no events", IMPORT, { events: [] }, {}, 400, "at least one event"],
  ["too many events", IMPORT, { events: Array(10_001).fill(0) }, {}, 422, "at most 10000"],
  ["a bad import_id", IMPORT, { import_id: "", events: [0] }, {}, 400, "import_id"],
  ["an unknown field", IMPORT, { event: [0] }, {}, 400, "Unknown field: event"],
  ["a number for an event", IMPORT, { events: [7] }, {}, 400, "An event must be a JSON object"],
];

for (const [name, path, body, headers, status, error] of WRONG) {
  Deno.test(`POST ${path.split("?")[0]} with ${name} is ${status} and leaves no import`, () =>
    withWorld(async (world) => {
      const answer = await post(world, path, body, headers);
      assert.equal(answer.status, status, answer.text);
      assert.ok(answer.body.error.includes(error), answer.text);
      const { written = 0 } = answer.body;
      assert.equal(written, 0);
    }));
}

Deno.test("imports are for operators: an API key is 401, on every path", () =>
  withWorld(async (world) => {
    for (const path of [IMPORT, LINES, "/_admin/cold_start"]) {
      const answer = await world.send("POST", path, { headers: NDJSON, body: "{}" });
      assert.equal(answer.status, 401, path);
    }
  }));

Deno.test("POST /_admin/cold_start into an environment with events is 409", () =>
  withWorld(async (world) => {
    const path = "/_admin/cold_start";
    assert.equal((await post(world, path, lines(event(1, "a")))).status, 200);
    const { status, body } = await post(world, path, lines(event(2, "a")));
    assert.deepEqual([status, body.error_type, body.reason], [409, "import_conflict", "not_empty"]);
  }));

Deno.test("another file under an import_id is 409", () =>
  withWorld(async (world) => {
    const path = `${LINES}?import_id=x`;
    await post(world, path, lines(event(1, "a")));
    const { status, body } = await post(world, path, lines(event(1, "b")));
    assert.deepEqual([status, body.error_type, body.reason], [
      409,
      "import_conflict",
      "other_file",
    ]);
  }));

Deno.test("?progress=true tells how far it is in lines of JSON; the last is the answer with its status", () =>
  withWorld(async (world) => {
    const path = `${LINES}?progress=true&import_id=x`;
    const file = lines(event(1, "a"), event(1, "b"));
    const { service, host } = world;
    // `world.send` expects a single JSON document; these answers are lines of JSON.
    const send = async (body: string) => {
      const headers = { ...NDJSON, authorization: `Bearer ${world.operator}` };
      const { createApp } = await import("../../src/http/app.ts");
      const app = createApp(service, host, {
        headerPrefix: "SVC",
        environment: { kind: "listener", environment: "test" },
        clientAddress: () => "",
      });
      return await app.fetch(
        new Request(`http://localhost${path}`, { method: "POST", headers, body }),
      );
    };
    const told = await send(file);
    assert.equal(told.headers.get("content-type"), "application/x-ndjson");
    const parts = (await told.text()).trim().split("\n").map((line) => JSON.parse(line));
    const bytes = new TextEncoder().encode(file).length;
    const done = { written: 2, import: viewOf({ import_id: "x", written: 2, lines: 2, bytes }) };
    assert.deepEqual(parts, [
      { progress: true, ...done },
      { ok: true, ...done, status: 200 },
    ]);
    const other = await send(lines(event(9, "a")));
    assert.deepEqual(
      [other.status, other.headers.get("content-type")],
      [409, "application/json"],
    );
  }));

Deno.test("a body that ends before it is complete is told from one that ends", async () => {
  const stopping = new AbortController();
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    type: "bytes",
    start(controller) {
      controller.enqueue(Uint8Array.of(1, 2));
    },
    pull(controller) {
      controller.error(new TypeError("reset"));
    },
  });
  const pieces = await Array.fromAsync(readPieces(body, stopping.signal));
  assert.deepEqual(pieces.map(({ ok }) => ok), [true, false]);
});

Deno.test("a body that waits ends with a refusal when the server stops", async () => {
  const stopping = new AbortController();
  const waiting = new ReadableStream<Uint8Array>({ type: "bytes" });
  const pieces = Array.fromAsync(readPieces(waiting, stopping.signal));
  stopping.abort();
  assert.deepEqual((await pieces).map(({ ok }) => ok), [false]);
});
