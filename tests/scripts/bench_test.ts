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
import { batchBody, eventData, requestBuilder, streamId } from "../../scripts/bench/requests.ts";
import { formatTable, isMet } from "../../scripts/bench/table.ts";

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
