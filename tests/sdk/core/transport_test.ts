/** What the client does about faults: which it tries again, and when. */

import assert from "node:assert/strict";
import { type ClientOptions, createClient, type ErrorType } from "@daybook/client";
import { ACTOR, type Shop } from "../shop_server.ts";
import {
  answers,
  hangs,
  refuses,
  type ScriptedWorld,
  scriptedWorld,
  type Turn,
} from "./scripted_world.ts";

const WRITTEN = answers(201, { ok: true, stream_id: "000000000000" });
const UNAVAILABLE = {
  ok: false,
  error: "Too many requests are under way",
  error_type: "unavailable",
};

function shopOf(world: ScriptedWorld, options: Partial<ClientOptions<Shop>> = {}) {
  return createClient<Shop>({
    url: "http://shop.test/",
    key: "k",
    actor: ACTOR,
    world,
    ...options,
  });
}

function place(world: ScriptedWorld, options?: Partial<ClientOptions<Shop>>) {
  return shopOf(world, options).order("7KD2M9QXA").was_placed({ customer: "Ada" });
}

Deno.test("a write is one POST with credential, actor and idempotency key", async () => {
  const world = scriptedWorld([WRITTEN]);
  assert.deepEqual(await place(world), { ok: true, stream_id: "000000000000" });
  const [{ url, method, headers, body }] = world.sent as [typeof world.sent[number]];
  assert.deepEqual({ url, method, headers, body }, {
    url: "http://shop.test/order/7KD2M9QXA/was_placed",
    method: "POST",
    headers: {
      authorization: "Bearer k",
      "content-type": "application/json",
      "x-idempotency-key": "key-1",
    },
    body: { data: { customer: "Ada" }, metadata: { actor: { type: "user", id: "global" } } },
  });
});

Deno.test("options of a write become its metadata; its key is the one that was given", async () => {
  const world = scriptedWorld([WRITTEN]);
  const options = {
    actor: { type: "admin", id: "main" },
    target: { type: "customer", id: "global" },
    previous_length: 3,
    timestamp: 1,
    idempotencyKey: "order 7",
    timeoutMs: 1_000,
  } as const;
  await shopOf(world).order("main").was_noted({ text: "a" }, options);
  assert.equal(world.sent[0]!.headers["x-idempotency-key"], "order 7");
  assert.deepEqual(world.sent[0]!.body, {
    data: { text: "a" },
    metadata: {
      actor: { type: "admin", id: "main" },
      target: { type: "customer", id: "global" },
      previous_length: 3,
      timestamp: 1,
    },
  });
});

Deno.test("an instance is named where something is read, and nowhere else", async () => {
  const world = scriptedWorld([
    answers(200, { ok: true, length: 0 }),
    answers(200, { ok: true, rows: [] }),
    WRITTEN,
    answers(200, { ok: true }),
  ]);
  const db = shopOf(world, { instanceId: "i 1" });
  await db.order("main").length();
  await db.$sql("SELECT 1");
  await db.order("main").was_placed({ customer: "Ada" });
  await db.$scheduled.cancel("sch_1");
  assert.deepEqual(world.sent.map(({ url }) => url.replace("http://shop.test", "")), [
    "/order/main/length?instance_id=i%201",
    "/_projections/query?instance_id=i%201",
    "/order/main/was_placed",
    "/_scheduled/sch_1",
  ]);
});

Deno.test("ids and values of queries are encoded", async () => {
  const world = scriptedWorld([answers(200, { ok: true, data: [], truncated: false })]);
  await shopOf(world).order("a/b?c").eventsPage({ start: "x&y", count: 2, raw: true });
  assert.equal(
    world.sent[0]!.url,
    "http://shop.test/order/a%2Fb%3Fc/events?start=x%26y&count=2&raw=true",
  );
});

const PASSING = {
  "the network": refuses(),
  "no answer in time": hangs(),
  "503": answers(503, UNAVAILABLE),
  "429": answers(429, { ok: false, error: "Rate limit exceeded", error_type: "rate_limited" }),
  "a write under way": answers(409, {
    ok: false,
    error: "x",
    error_type: "idempotency_in_progress",
  }),
  "a body that came slowly": answers(408, { ok: false, error: "x", error_type: "bad_request" }),
  "a proxy without its server": () => new Response("<html>Bad gateway</html>", { status: 502 }),
  "an answer that is cut off": () => new Response('{"ok":tr', { status: 503 }),
};

for (const [name, turn] of Object.entries(PASSING)) {
  Deno.test(`${name}: the write is sent again under the same key`, async () => {
    const world = scriptedWorld([turn, turn, WRITTEN]);
    assert.equal((await place(world)).ok, true);
    assert.deepEqual(
      world.sent.map(({ headers }) => headers["x-idempotency-key"]),
      ["key-1", "key-1", "key-1"],
    );
    assert.deepEqual(new Set(world.sent.map(({ body }) => JSON.stringify(body))).size, 1);
  });
}

Deno.test("an answer that breaks off is a fault of the network: the write is sent again", async () => {
  const broken = () =>
    new Response(
      new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode('{"ok":true,'));
          controller.error(new TypeError("connection reset"));
        },
      }),
      { status: 201 },
    );
  const world = scriptedWorld([broken, WRITTEN]);
  assert.equal((await place(world)).ok, true);
  assert.equal(world.sent.length, 2);
});

Deno.test("the time of a try is that of its whole answer", async () => {
  const stuck: Turn = ({ signal }) =>
    new Response(
      new ReadableStream({
        start(controller) {
          signal.addEventListener("abort", () => controller.error(signal.reason));
        },
      }),
      { status: 201 },
    );
  const answer = await place(scriptedWorld([stuck]), { retries: 0 });
  assert.equal(!answer.ok && answer.error_type, "timed_out");
});

Deno.test("a write that is redirected is no read of where it leads to", async () => {
  const server = Deno.serve({ port: 0, onListen() {} }, ({ url, method }) => {
    const state = { ok: true, data: {}, metadata: { length: 0 } };
    return method === "POST" ? Response.redirect(url, 301) : Response.json(state);
  });
  const { port } = server.addr;
  const db = createClient<Shop>({ url: `http://127.0.0.1:${port}`, actor: ACTOR });
  const answer = await db.order("main").was_placed({ customer: "Ada" });
  assert.equal(!answer.ok && answer.error_type, "not_daybook");
  await server.shutdown();
});

Deno.test("pauses double, spread over their whole length, up to ten seconds", async () => {
  const world = scriptedWorld([refuses()], () => 0.5);
  await place(world, { retries: 8 });
  assert.deepEqual(world.pausesMs, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
});

Deno.test("Retry-After is waited for, and a spread pause beyond it", async () => {
  const busy = answers(503, UNAVAILABLE, { "retry-after": "7" });
  const world = scriptedWorld([busy, WRITTEN], () => 0.25);
  await place(world);
  assert.deepEqual(world.pausesMs, [7_050]);
});

Deno.test("a server that wants a longer wait than a minute is not waited for", async () => {
  const world = scriptedWorld([answers(503, UNAVAILABLE, { "retry-after": "3600" })]);
  const answer = await place(world);
  assert.equal(!answer.ok && answer.error_type, "unavailable");
  assert.equal(world.sent.length, 1);
});

Deno.test("after the last try the fault is the answer, with the key to send it again with", async () => {
  const told: [string, number][] = [];
  const world = scriptedWorld([refuses()]);
  const answer = await place(world, {
    retries: 2,
    onRetry: ({ error_type }, waitMs) => void told.push([error_type, waitMs]),
  });
  assert.equal(world.sent.length, 3);
  assert.deepEqual(told, [["unreachable", 100], ["unreachable", 200]]);
  assert.ok(!answer.ok && answer.error_type === "unreachable");
  assert.equal(answer.idempotency_key, "key-1");
  assert.equal(answer.status, 0);
});

const LASTING: Readonly<Record<string, [status: number, error_type: ErrorType]>> = {
  "a conflict": [409, "occ_conflict"],
  "a plan that is used up": [429, "plan_limit"],
  "a bug of the service": [500, "internal"],
  "a projection that a deploy broke": [503, "projection_broken"],
  "a wrong key": [401, "unauthorized"],
};

for (const [name, [status, error_type]] of Object.entries(LASTING)) {
  Deno.test(`${name} is not tried again`, async () => {
    const world = scriptedWorld([answers(status, { ok: false, error: "x", error_type })]);
    const answer = await place(world);
    assert.equal(world.sent.length, 1);
    assert.deepEqual(
      !answer.ok && [answer.error_type, answer.status, answer.request_id],
      [error_type, status, "r1"],
    );
  });
}

Deno.test("orThrow() gives the value, or throws what a refusal says", async () => {
  const value = await place(scriptedWorld([WRITTEN])).orThrow();
  assert.equal(value.stream_id, "000000000000");
  const refusal = {
    ok: false,
    error: "Not so",
    error_type: "bad_request",
    path: "data",
    hint: "So",
  };
  await assert.rejects(place(scriptedWorld([answers(400, refusal)])).orThrow(), {
    name: "DaybookError",
    message: "bad_request at data: Not so. So",
    refusal: { ...refusal, status: 400, request_id: "r1" },
  });
});

Deno.test("a signal ends a call under way, one in a pause, and one that has not begun", async () => {
  for (const turn of [hangs(), refuses()]) {
    const controller = new AbortController();
    const world = scriptedWorld([turn]);
    // The pause of the script ends at the next turn of the loop; the signal comes before.
    const call = shopOf({ ...world, after: () => () => {} }).order("main")
      .get({ signal: controller.signal });
    await Promise.resolve();
    controller.abort("enough");
    const answer = await call;
    assert.ok(!answer.ok && answer.error_type === "aborted");
    assert.equal(answer.cause, "enough");
    assert.equal(world.sent.length, 1);
  }
  const world = scriptedWorld([WRITTEN]);
  const answer = await shopOf(world).order("main").get({ signal: AbortSignal.abort() });
  assert.equal(!answer.ok && answer.error_type, "aborted");
  assert.equal(world.sent.length, 0);
});

Deno.test("a refusal of a handler has its message as text, and the handler's own object", async () => {
  const error = { type: "sold_out", message: "No tea is left", context: { sku: "TEA" } };
  const answer = await place(
    scriptedWorld([answers(422, { ok: false, error, error_type: "handler_error" })]),
  );
  assert.ok(!answer.ok && answer.error_type === "handler_error");
  assert.equal(answer.error, "No tea is left");
  assert.deepEqual(answer.handler_error, error);
});

Deno.test("the key may come from a function, which is asked before each try", async () => {
  const world = scriptedWorld([answers(503, UNAVAILABLE), WRITTEN]);
  const keys = ["first", "second"];
  await place(world, { key: () => Promise.resolve(keys.shift()!) });
  assert.deepEqual(
    world.sent.map(({ headers }) => headers.authorization),
    ["Bearer first", "Bearer second"],
  );
});

Deno.test("an idempotency key that no header can have is refused before anything is sent", async () => {
  const world = scriptedWorld([WRITTEN]);
  for (const idempotencyKey of ["", "é", "a\nb", "x".repeat(256)]) {
    const answer = await shopOf(world).order("main").was_viewed({}, { idempotencyKey });
    assert.equal(!answer.ok && answer.error_type, "bad_request");
  }
  assert.equal(world.sent.length, 0);
});

Deno.test("createClient() refuses an address that is none", () => {
  for (const url of ["", "localhost:8002", "ftp://a", "http://", "http://a?b=c"]) {
    assert.throws(() => createClient({ url }), /url must be an address such as/);
  }
});
