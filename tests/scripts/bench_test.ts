/** The bench's own arithmetic and its HTTP client: a wrong ruler measures nothing. */

import assert from "node:assert/strict";
import {
  bodyText,
  endOfHead,
  openConnection,
  parseHead,
} from "../../scripts/bench/http_connection.ts";
import { percentiles, runLoad } from "../../scripts/bench/load.ts";
import { measureShares, nameLimit } from "../../scripts/bench/machine.ts";
import { askUntil, runOpenLoop } from "../../scripts/bench/open_loop.ts";
import {
  LINES,
  orderRequests,
  REACTION_SPEC,
  SAGA_STEPS,
  sagaRequests,
} from "../../scripts/bench/reaction_requests.ts";
import { batchBody, eventData, requestBuilder, streamId } from "../../scripts/bench/requests.ts";
import { formatBench, putSection } from "../../scripts/bench/markdown.ts";
import { formatTable, isMet } from "../../scripts/bench/table.ts";
import { compileSpec } from "../../src/domain/spec/compile.ts";

Deno.test("percentiles() of the numbers from 1 to 100", () => {
  const numbers = Array.from({ length: 100 }, (_, i) => 100 - i);
  assert.deepEqual(percentiles(numbers), { p50: 51, p95: 96, p99: 100, max: 100 });
});

Deno.test("isMet() looks at the figure and at the p99 where one is asked for", () => {
  const row = { name: "a", value: 100, unit: "req/s", target: { atLeast: 100 } };
  const latency = { p50: 1, p95: 1, p99: 30, max: 40 };
  assert.equal(isMet(row), true);
  assert.equal(isMet({ ...row, value: 99.9 }), false);
  assert.equal(isMet({ ...row, latency, p99BelowMs: 31 }), true);
  assert.equal(isMet({ ...row, latency, p99BelowMs: 30 }), false);
  assert.equal(isMet({ ...row, target: { below: 100 } }), false);
  assert.equal(isMet({ name: "a", value: 1, unit: "x" }), undefined);
});

Deno.test("formatTable() says NO where a target is missed, and gives the share of the no-op", () => {
  const row = { name: "a", value: 5, unit: "x", target: { atLeast: 10 }, noop: 20 };
  assert.match(formatTable([row]).split("\n")[1]!, /^a +5\.00 x +>= 10\.00 +NO +0\.25/);
});

Deno.test("formatTable() has a head over each column, each figure right under its own", () => {
  const latency = { p50: 2.5, p95: 3.5, p99: 4.5, max: 5.5, serverMicrosPerUnit: 1.5 };
  const table = formatTable([{ name: "a", value: 5, unit: "x", latency, note: "note" }]);
  const [head, row] = table.split("\n");
  const figures = [["us", "1.5"], ["p50", "2.5"], ["p95", "3.5"], ["p99", "4.5"]] as const;
  for (const [name, figure] of figures) {
    const end = row!.indexOf(figure) + figure.length;
    assert.equal(head!.slice(0, end).trimEnd().endsWith(name), true, table);
  }
});

Deno.test("nameLimit() names who has no time left", () => {
  assert.equal(nameLimit({ server: 0.97, fdbserver: 0.4, load: 0.3 }, 4), "server");
  assert.equal(nameLimit({ server: 0.6, fdbserver: 0.9, load: 0.3 }, 4), "fdbserver");
  assert.equal(nameLimit({ server: 0.8, fdbserver: 0.6, load: 0.5 }, 2), "the machine's 2 cores");
  assert.equal(nameLimit({ server: 0.5, fdbserver: 0.3, load: 0.2 }, 4), "no processor");
});

Deno.test("measureShares() finds that a process which turns has most of a core", async () => {
  const busy = new Deno.Command("sh", { args: ["-c", "while :; do :; done"] }).spawn();
  const idle = new Deno.Command("sleep", { args: ["10"] }).spawn();
  const shares = await measureShares({ busy: busy.pid, idle: idle.pid }, 0, 500);
  for (const child of [busy, idle]) {
    child.kill("SIGKILL");
    await child.status;
  }
  assert.ok(shares.busy! > 0.15 && shares.busy! < 1.2, `busy ${shares.busy}`);
  assert.ok(shares.idle! < 0.1, `idle ${shares.idle}`);
});

Deno.test("eventData() is 256 bytes of JSON, streamId() a version 4 UUID, batchBody() a batch", () => {
  for (const number of [0, 1, 999_999, 5_000_000]) {
    assert.equal(new TextEncoder().encode(eventData(number)).length, 256);
    assert.equal(JSON.parse(eventData(number)).amount, number % 1000);
  }
  assert.equal(streamId(900_000), "000dbba0-0000-4000-8000-000000000000");
  assert.equal(JSON.parse(new TextDecoder().decode(batchBody(7))).events.length, 7);
});

Deno.test("endOfHead() and parseHead() find the body and its length", () => {
  const head = "HTTP/1.1 201 Created\r\nContent-Length: 12\r\n\r\n";
  const bytes = new TextEncoder().encode(head + "body");
  assert.equal(endOfHead(bytes, bytes.length), head.length);
  assert.equal(endOfHead(bytes, head.length - 1), -1);
  assert.deepEqual(parseHead(head), { status: 201, contentLength: 12 });
  assert.deepEqual(parseHead("HTTP/1.1 204 No Content\r\n\r\n"), { status: 204, contentLength: 0 });
});

Deno.test("openConnection() reads replies of any length and keeps the connection", async () => {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const size = Number(new URL(request.url).searchParams.get("size"));
    const { length } = await request.text();
    return new Response(`${length}:${"x".repeat(size)}`, { status: 201 });
  });
  const connection = await openConnection((server.addr as Deno.NetAddr).port);
  for (const size of [0, 10, 70_000, 3_000_000, 5]) {
    const head = `POST /?size=${size} HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\n`;
    const reply = await connection.exchange(
      ...[head, "abc"].map((t) => new TextEncoder().encode(t)),
    );
    assert.equal(reply.status, 201);
    assert.equal(bodyText(reply), `3:${"x".repeat(size)}`);
  }
  connection.close();
  await server.shutdown();
});

Deno.test("each write that is asked for has an idempotency key of its own, or none has one", () => {
  const decoder = new TextDecoder();
  const keyOf = (parts: readonly Uint8Array[]) =>
    /^x-idempotency-key: (.+)\r$/m.exec(decoder.decode(parts[0]))?.[1];
  const keysOf = (requests: ReturnType<typeof requestBuilder>) => [
    keyOf(requests.single(streamId(1), 1)),
    keyOf(requests.single(streamId(1), 1)),
    keyOf(requests.batch(streamId(1), batchBody(2))),
    keyOf(requests.write("/_atomic-write", "{}")),
  ];
  const keys = keysOf(requestBuilder("key"));
  assert.ok(keys.every((key) => key !== undefined));
  assert.equal(new Set(keys).size, keys.length);
  const without = keysOf(requestBuilder("key", { isKeyed: false }));
  assert.ok(without.every((key) => key === undefined));
});

Deno.test("runLoad() refuses to count replies of another status", async () => {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response("no such thing", { status: 404 }),
  );
  const { port } = server.addr as Deno.NetAddr;
  const request = requestBuilder("key").get("/");
  const options = { port, connections: 1, seconds: 1, expectedStatus: 200, next: () => request };
  await assert.rejects(runLoad({ ...options, warmupSeconds: 0 }), /404 no such thing/);
  await server.shutdown();
});

/** The path of a request and its body. */
function partsOf(request: readonly Uint8Array[]) {
  const [head, body] = new TextDecoder().decode(request[0]).split("\r\n\r\n");
  return { path: head!.split(" ")[1], body: JSON.parse(body!) };
}

Deno.test("the spec of the reactions compiles without a warning, with a step for each number", () => {
  const compiled = compileSpec(REACTION_SPEC);
  assert.ok(compiled.ok, JSON.stringify(compiled));
  assert.deepEqual(compiled.warnings, []);
  const steps = new Set(REACTION_SPEC.modules.sagas.journey.steps.map(({ name }) => name));
  assert.equal(steps.size, SAGA_STEPS);
});

Deno.test("orders of the bench are as long as its other events, and imply what they say", () => {
  const orders = orderRequests(requestBuilder("key"));
  for (const type of ["noted", "placed"] as const) {
    const { path, body } = partsOf(orders[type]("s", 7));
    assert.equal(path, `/order/s/was_${type}`);
    assert.equal(JSON.stringify(body.data).length, 256);
  }
  const split = partsOf(orders.split("s", 7, (line) => `stock ${line}`)).body.data;
  assert.equal(new Set(split.lines.map(({ stock }: { stock: string }) => stock)).size, LINES);
  assert.equal(partsOf(orders.putOff("s", 7, 5_000)).body.data.delay_ms, 5_000);
  const batch = partsOf(orders.putOffBatch("s", 3, 5_000)).body.events;
  assert.deepEqual(batch.map(({ type }: { type: string }) => type), Array(3).fill("was_put_off"));
});

Deno.test("sagas of the bench are started and moved on in the same stream", () => {
  const sagas = sagaRequests(requestBuilder("key"));
  const [, second] = partsOf(sagas.begin(10, 2)).body.events;
  assert.equal(second.data.stop, streamId(11));
  assert.equal(partsOf(sagas.reach(11)).path, `/stop/${streamId(11)}/was_reached`);
});

Deno.test("runOpenLoop() does all that is due, and counts from when it was, however long one takes", async () => {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response("ok"),
  );
  const { port } = server.addr as Deno.NetAddr;
  const request = requestBuilder("key").get("/");
  const dues: number[] = [];
  let waitedMs = 0;
  await runOpenLoop({
    port,
    connections: 1,
    perSecond: 200,
    seconds: 0.1,
    async perform(connection, number, dueMs) {
      dues.push(dueMs);
      if (number === 0) await new Promise((resolve) => setTimeout(resolve, 60));
      else if (number === 1) waitedMs = performance.now() - dueMs;
      await connection.exchange(...request);
    },
  });
  assert.equal(dues.length, 20);
  for (const [number, dueMs] of dues.entries()) {
    assert.ok(Math.abs(dueMs - dues[0]! - 5 * number) < 0.001);
  }
  assert.ok(waitedMs > 50, `${waitedMs} ms`);
  await server.shutdown();
});

Deno.test("askUntil() asks again until the reply is the right one, or gives up", async () => {
  let asked = 0;
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response(String(++asked)),
  );
  const connection = await openConnection((server.addr as Deno.NetAddr).port);
  const request = requestBuilder("key").get("/");
  const isThere = (reply: Parameters<typeof bodyText>[0]) => bodyText(reply) === "3";
  await askUntil(connection, request, { everyMs: 1, patienceMs: 5_000, isThere });
  assert.equal(asked, 3);
  const never = { everyMs: 1, patienceMs: 20, isThere: () => false };
  await assert.rejects(askUntil(connection, request, never), /within 20 ms/);
  connection.close();
  await server.shutdown();
});

Deno.test("formatBench() has the machine, and each row with what was asked of it", () => {
  const latency = { p50: 1, p95: 2, p99: 3.456, max: 4 };
  const text = formatBench({
    machine: ["a machine", "its cores"],
    rows: [
      { name: "a", value: 1_500, unit: "req/s", target: { atLeast: 2_000 }, noop: 3_000, latency },
      { name: "b", value: 0.5, unit: "ms", target: { below: 1 }, note: "x|y" },
    ],
  });
  assert.deepEqual(text.split("\n"), [
    "- a machine",
    "- its cores",
    "",
    "| measure | figure | asked for | met | of no-op | p50 / p99 ms |  |",
    "| --- | --- | --- | --- | --- | --- | --- |",
    "| a | 1,500 req/s | at least 2,000 | NO | 50% | 1.00 / 3.46 |  |",
    "| b | 0.50 ms | below 1.00 | yes |  |  | x\\|y |",
  ]);
});

Deno.test("putSection() replaces what is between the marks of that name, and nothing else", () => {
  const before = "a\n<!-- figures of x -->\nold\n<!-- end of the figures of x -->\nb\n";
  const after = "a\n<!-- figures of x -->\nnew\n<!-- end of the figures of x -->\nb\n";
  assert.equal(putSection(before, "x", "new"), after);
  assert.equal(putSection(after, "x", "new"), after);
  assert.throws(() => putSection(before, "y", "new"), /has no/);
});
