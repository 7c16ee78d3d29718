/**
 * `GET /{aggregate_type}/{aggregate_id}/events`: pages, cursors, stored bytes and chain hashes.
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { type Case, refusal, testCases } from "./cases.ts";
import { START, withWorld, type World } from "./world.ts";
import { ACTOR, METADATA, noteBody, uuid } from "./world_spec.ts";

const EVENTS = "/note/global/events";

interface Entry {
  readonly id: string;
  readonly hash: string;
  readonly raw: string;
  readonly event: { readonly data: { readonly text: string } };
}

async function write({ send }: World, count: number, text = ""): Promise<void> {
  const events = Array.from({ length: count }, (_, index) => ({
    type: "was_written",
    data: { text: text + index },
  }));
  const answer = await send("POST", "/note/global", { body: { events, metadata: METADATA } });
  assert.equal(answer.status, 201, answer.text.slice(0, 200));
}

function texts(data: readonly Entry[]): string[] {
  return data.map(({ event }) => event.data.text);
}

testCases("an events page", [
  {
    name: "of a stream without events is empty and 200",
    call: `GET ${EVENTS}`,
    status: 200,
    answer: { ok: true, data: [], count_limit: 500, truncated: false },
  },
  {
    name: "of an unknown type is 404",
    call: "GET /parcel/global/events",
    status: 404,
    answer: refusal("not_found", "Aggregate type 'parcel' not found in spec"),
  },
  {
    name: "of a malformed id is 422 with path key",
    call: "GET /note/nowhere/events",
    status: 422,
    answer: /"path":"key"/,
  },
  ...["0", "-1", "many", "1.5", "1e3", ""].map((count): Case => ({
    name: `?count=${count} is unusable: 400`,
    call: `GET ${EVENTS}?count=${count}`,
    status: 400,
    answer: refusal("bad_request", "Query parameter 'count' must be a positive integer", {
      path: "count",
    }),
  })),
  {
    name: "?count=5000 is the maximum and not clamped",
    call: `GET ${EVENTS}?count=5000`,
    status: 200,
    answer: { ok: true, data: [], count_limit: 5000, truncated: false },
  },
  {
    name: "?count=5001 is clamped and reported with count_clamped: true",
    call: `GET ${EVENTS}?count=5001`,
    status: 200,
    answer: { ok: true, data: [], count_limit: 5000, truncated: false, count_clamped: true },
  },
  {
    name: "?count=99999999999999999999 is clamped too",
    call: `GET ${EVENTS}?count=99999999999999999999`,
    status: 200,
    answer: { ok: true, data: [], count_limit: 5000, truncated: false, count_clamped: true },
  },
  ...["up", "Forwards", "", "backward"].map((direction): Case => ({
    name: `?direction=${direction} is unrecognised: 400`,
    call: `GET ${EVENTS}?direction=${direction}`,
    status: 400,
    answer: refusal(
      "bad_request",
      "Query parameter 'direction' must be forwards or backwards",
      { path: "direction" },
    ),
  })),
  {
    name: "?raw=maybe is 400",
    call: `GET ${EVENTS}?raw=maybe`,
    status: 400,
    answer: /"path":"raw"/,
  },
]);

/** The documented page of events 0 to `length - 1`. */
function expectedPage(length: number, count: number, direction: string, start?: number) {
  const low = direction === "forwards" && start !== undefined ? start + 1 : 0;
  const high = direction === "backwards" && start !== undefined ? start : length;
  const all = Array.from({ length: Math.max(0, high - low) }, (_, index) => String(low + index));
  const page = direction === "forwards" ? all.slice(0, count) : all.slice(-count);
  return { page, truncated: page.length < all.length };
}

for (const direction of ["forwards", "backwards"]) {
  Deno.test(`every window ${direction}: oldest first, start exclusive, truncated exact, next_start leads on`, () =>
    withWorld(async (world) => {
      const length = 5;
      await write(world, length);
      const ids = ((await world.send("GET", EVENTS)).body.data as Entry[]).map(({ id }) => id);
      for (const start of [undefined, 0, 1, 2, 3, 4]) {
        for (let count = 1; count <= length + 1; count++) {
          const from = start === undefined ? "" : `&start=${ids[start]}`;
          const query = `?direction=${direction}&count=${count}${from}`;
          const { body } = await world.send("GET", EVENTS + query);
          const { page, truncated } = expectedPage(length, count, direction, start);
          assert.deepEqual(texts(body.data), page, query);
          assert.equal(body.truncated, truncated, query);
          assert.equal(body.truncated_by, truncated ? "count" : undefined);
          assert.equal(body.count_limit, count);
          assert.equal("next_start" in body, truncated, "absent when there is no further page");
          const edge = direction === "forwards" ? page.at(-1) : page[0];
          if (truncated) assert.equal(body.next_start, ids[Number(edge)], query);
        }
      }
    }));

  Deno.test(`following next_start ${direction} meets each event once`, () =>
    withWorld(async (world) => {
      await write(world, 23);
      const seen: string[] = [];
      let start = "";
      for (let turn = 0; turn < 10; turn++) {
        const { body } = await world.send(
          "GET",
          `${EVENTS}?direction=${direction}&count=5${start}`,
        );
        const page = texts(body.data);
        seen[direction === "forwards" ? "push" : "unshift"](...page);
        if (body.next_start === undefined) break;
        start = `&start=${body.next_start}`;
      }
      assert.deepEqual(seen, Array.from({ length: 23 }, (_, index) => String(index)));
    }));

  Deno.test(`a page ${direction} ends at the 4 MB ceiling and says truncated_by bytes`, () =>
    withWorld(async (world) => {
      await write(world, 45, "x".repeat(100_000));
      const query = `?direction=${direction}&raw=true`;
      const { body } = await world.send("GET", EVENTS + query);
      const sizes = (body.data as Entry[]).map(({ raw }) => raw.length);
      const bytes = sizes.reduce((sum, size) => sum + size, 0);
      assert.ok(bytes <= 4 * 1024 * 1024, "the ceiling binds");
      assert.ok(bytes + sizes[0]! > 4_000_000, "and not before");
      assert.deepEqual([body.truncated, body.truncated_by], [true, "bytes"]);
      const rest = await world.send("GET", `${EVENTS}${query}&start=${body.next_start}`);
      assert.equal(rest.body.data.length, 45 - sizes.length);
      assert.equal(rest.body.truncated, false);
    }));
}

Deno.test("without count a page has 500 events", () =>
  withWorld(async (world) => {
    await write(world, 501);
    const { body } = await world.send("GET", EVENTS);
    assert.equal(body.data.length, 500);
    assert.deepEqual([body.count_limit, body.truncated, body.truncated_by], [500, true, "count"]);
    const newest = await world.send("GET", `${EVENTS}?direction=backwards`);
    assert.equal(newest.body.data[0].event.data.text, "1");
  }));

Deno.test("a page holds at most 5,000 events", () =>
  withWorld(async (world) => {
    await write(world, 5_001);
    const { body } = await world.send("GET", `${EVENTS}?count=6000`);
    assert.equal(body.data.length, 5_000);
    assert.deepEqual([body.count_limit, body.count_clamped, body.truncated], [5_000, true, true]);
  }));

Deno.test("a page ending on the last event has truncated false, at exactly count events", () =>
  withWorld(async (world) => {
    await write(world, 500);
    const { body } = await world.send("GET", EVENTS);
    assert.deepEqual([body.data.length, body.truncated], [500, false]);
    assert.ok(!("next_start" in body) && !("truncated_by" in body));
  }));

Deno.test("an entry is {id, hash, event}; with raw=true {id, hash, raw} with the stored bytes", () =>
  withWorld(async ({ send }) => {
    const written = await send("POST", "/note/global/was_written", { body: noteBody("é\u2028") });
    const [decoded] = (await send("GET", EVENTS)).body.data;
    const [entry] = (await send("GET", `${EVENTS}?raw=true`)).body.data;
    assert.deepEqual(Object.keys(decoded), ["id", "hash", "event"]);
    assert.deepEqual(Object.keys(entry), ["id", "hash", "raw"]);
    assert.equal(entry.id, written.body.stream_id);
    assert.deepEqual(JSON.parse(entry.raw), decoded.event);
    const event = {
      key: "note:global",
      type: "was_written",
      data: { text: "é\u2028" },
      metadata: { actor: ACTOR, timestamp: START },
    };
    assert.equal(entry.raw, JSON.stringify(event));
  }));

for (const raw of ["raw=1", "raw=", "raw"]) {
  Deno.test(`?${raw} means raw=true`, () =>
    withWorld(async (world) => {
      await write(world, 1);
      const [entry] = (await world.send("GET", `${EVENTS}?${raw}`)).body.data;
      assert.deepEqual(Object.keys(entry), ["id", "hash", "raw"]);
    }));
}

Deno.test("hash is the chain hash: SHA-256 of the previous hash as 64 characters and the bytes", () =>
  withWorld(async (world) => {
    await write(world, 12);
    const { data } = (await world.send("GET", `${EVENTS}?raw=true`)).body;
    let previous = "";
    for (const { hash, raw } of data as Entry[]) {
      previous = createHash("sha256").update(previous).update(raw, "utf8").digest("hex");
      assert.equal(hash, previous);
    }
  }));

Deno.test("stored metadata has its fields in the decided order, absent ones left out, skip_occ never", () =>
  withWorld(async ({ send }) => {
    const target = { id: uuid(2), type: "customer" };
    const metadata = {
      timestamp: 9,
      previous_length: 0,
      target,
      actor: { id: "main", type: "robot" },
    };
    const body = { metadata, data: { text: "a" } };
    const headers = { "x-idempotency-key": "k 1" };
    await send("POST", "/note/global/was_written", { body, headers });
    await send("POST", "/note/global/was_written", { body: noteBody("b", { skip_occ: true }) });
    const [first, second] = (await send("GET", `${EVENTS}?raw=true`)).body.data as Entry[];
    assert.equal(
      first!.raw,
      `{"key":"note:global","type":"was_written","data":{"text":"a"},"metadata":{` +
        `"actor":{"type":"robot","id":"main"},"target":{"type":"customer","id":"${uuid(2)}"},` +
        `"previous_length":0,"timestamp":9,"idempotency_key":"k 1"}}`,
    );
    assert.ok(!second!.raw.includes("skip_occ"));
    assert.match(second!.raw, new RegExp(`"timestamp":${START}\\}`));
  }));

Deno.test("a start that is no event's id is 400 with path start", () =>
  withWorld(async (world) => {
    await write(world, 2);
    for (const start of ["x", "1", "-1", "00000000000x"]) {
      const { status, body } = await world.send("GET", `${EVENTS}?start=${start}`);
      assert.deepEqual([status, body.path], [400, "start"], start);
    }
  }));
