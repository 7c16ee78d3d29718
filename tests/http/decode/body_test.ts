/**
 * Content type, size and encoding of bodies. See docs/reference/basics.md and
 * docs/reference/errors.md.
 */

import assert from "node:assert/strict";
import { checkContentType, readJsonBody } from "../../../src/http/decode/body.ts";
import { fakeHost } from "../../support/fake_host.ts";

function post(body: BodyInit, headers: Record<string, string> = {}): Request {
  const all = { "content-type": "application/json", ...headers };
  return new Request("http://127.0.0.1/", { method: "POST", headers: all, body });
}

const BYTES_MAX = 1_000_000;

function from(request: Request) {
  return { request, owner: "test", host: fakeHost() };
}

async function refusalOf(request: Request, bytesMax = BYTES_MAX) {
  const outcome = await readJsonBody(from(request), bytesMax);
  assert.ok(!outcome.ok);
  return outcome.refusal as { kind: string; message: string; limit?: number };
}

function chunks(...parts: (string | Error)[]): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    pull(controller) {
      const part = parts.shift();
      if (part === undefined) controller.close();
      else if (typeof part === "string") controller.enqueue(encoder.encode(part));
      else controller.error(part);
    },
  });
}

const TAKEN = ["application/json", "Application/JSON", "application/json; charset=utf-8"]
  .concat(["application/json;charset=UTF-8", 'application/json; charset="utf-8"'])
  .concat(["application/json; profile=x", "application/json;"]);
const REFUSED = ["", "text/plain", "application/jsonp", "application/json; charset=latin1"]
  .concat(["application/x-www-form-urlencoded", "application/json, text/plain"]);

for (const type of TAKEN) {
  Deno.test(`checkContentType() takes '${type}'`, () => assert.ok(checkContentType(type).ok));
}
for (const type of REFUSED) {
  Deno.test(`checkContentType() refuses '${type}' with 400`, () => {
    assert.ok(!checkContentType(type).ok);
  });
}

Deno.test("checkContentType() refuses a body without a content type", () => {
  assert.ok(!checkContentType(null).ok);
});

Deno.test("checkContentType() takes no type of more than 1,024 characters apart", () => {
  assert.ok(checkContentType("application/json".padEnd(1024, ";")).ok);
  const longer = checkContentType("application/json".padEnd(1025, ";"));
  assert.ok(!longer.ok && longer.refusal.kind === "bad_request");
  assert.match(longer.refusal.message, /at most 1024 characters/);
});

Deno.test("readJsonBody() joins chunks, also where one cuts a character in two", async () => {
  const bytes = new TextEncoder().encode('{"a":"é"}');
  const body = new ReadableStream({
    start(controller) {
      for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
      controller.close();
    },
  });
  assert.deepEqual(await readJsonBody(from(post(body)), BYTES_MAX), {
    ok: true,
    value: { a: "é" },
  });
});

Deno.test("readJsonBody() refuses a declared length above the limit before it reads", async () => {
  const refusal = await refusalOf(post("{}", { "content-length": "11" }), 10);
  assert.deepEqual([refusal.kind, refusal.limit], ["payload_too_large", 10]);
});

Deno.test("readJsonBody() takes a body of exactly the limit and refuses one byte more", async () => {
  assert.ok((await readJsonBody(from(post('{"a":12}')), 8)).ok);
  assert.equal((await refusalOf(post('{"a":123}'), 8)).kind, "payload_too_large");
});

Deno.test("readJsonBody() stops reading a chunked body at the limit", async () => {
  const parts = Array.from({ length: 50 }, () => "x".repeat(1_000));
  const refusal = await refusalOf(post(chunks(...parts)), 2_500);
  assert.equal(refusal.kind, "payload_too_large");
  assert.ok(parts.length > 40, "the rest was never asked for");
});

Deno.test("readJsonBody() refuses an empty body with 400", async () => {
  assert.equal((await refusalOf(post(""))).message, "Request body is empty");
});

Deno.test("readJsonBody() refuses invalid UTF-8 with 400", async () => {
  for (
    const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0xaf], [0xf4, 0x90, 0x80, 0x80]]
  ) {
    const body = Uint8Array.of(0x7b, 0x22, ...bytes, 0x22, 0x3a, 0x31, 0x7d);
    assert.equal((await refusalOf(post(body))).message, "Request body is not valid UTF-8");
  }
});

Deno.test("readJsonBody() refuses a byte order mark with 400", async () => {
  assert.match((await refusalOf(post("\ufeff{}"))).message, /byte order mark/);
});

Deno.test("readJsonBody() answers 400, not 500, where the body breaks off", async () => {
  const refusal = await refusalOf(post(chunks('{"a":', new Error("connection reset"))));
  assert.equal(refusal.message, "Request body ended before it was complete");
});

Deno.test("readJsonBody() gives up a body that stalls, declared or in chunks", async () => {
  const declared: Record<string, string>[] = [
    { "content-length": "8" },
    { "content-length": "800000" },
    {},
  ];
  for (const headers of declared) {
    const stalled = new ReadableStream({ start: (c) => c.enqueue(new TextEncoder().encode("{")) });
    const outcome = await readJsonBody(from(post(stalled, headers)), BYTES_MAX, {
      secondsMax: 0.02,
    });
    assert.deepEqual(outcome, { ok: false, refusal: { kind: "body_late", seconds: 0.02 } });
  }
});

Deno.test("readJsonBody() refuses a body in another coding, which it would not understand", async () => {
  const refusal = await refusalOf(post("{}", { "content-encoding": "gzip" }));
  assert.match(refusal.message, /Content-Encoding/);
  const asItIs = from(post("{}", { "content-encoding": "identity" }));
  assert.ok((await readJsonBody(asItIs, BYTES_MAX)).ok);
});
