/** What all answers have in common. */

import assert from "node:assert/strict";
import {
  compress,
  COMPRESS_BYTES_MIN,
  createRequestIds,
  mayCompress,
  sendLength,
  sendOk,
  sendParts,
  sendText,
  withoutBody,
} from "../../src/http/answer.ts";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { systemHost } from "../../src/host.ts";

Deno.test("sendText() sends the request id, the CORS origin and JSON, and further headers", async () => {
  const response = sendText("req_1", 409, '{"ok":false}', { "retry-after": "1" });
  assert.equal(response.status, 409);
  assert.deepEqual(Object.fromEntries(response.headers), {
    "access-control-allow-origin": "*",
    "content-type": "application/json",
    "retry-after": "1",
    "x-request-id": "req_1",
  });
  assert.equal(await response.text(), '{"ok":false}');
});

Deno.test("sendOk() puts ok first and leaves undefined fields out", async () => {
  const response = sendOk("req_1", { a: 1, b: undefined }, 201);
  assert.equal(response.status, 201);
  assert.equal(await response.text(), '{"ok":true,"a":1}');
});

Deno.test("sendLength() sends what the same answer has with a body", async () => {
  for (const [bytes, vary] of [[1_023, null], [1_024, "Accept-Encoding"]] as const) {
    const request = new Request("http://localhost/", { method: "HEAD" });
    const made = compress(sendLength("req_1", bytes), request);
    const whole = await withoutBody(compress(sendText("req_1", 200, "a".repeat(bytes)), request));
    assert.deepEqual(Object.fromEntries(made.headers), Object.fromEntries(whole.headers));
    assert.deepEqual([made.headers.get("vary"), made.body], [vary, null]);
  }
});

Deno.test("withoutBody() counts a body that no memory would take", async () => {
  const chunk = new Uint8Array(1024 * 1024);
  let left = 16 * 1024;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (left-- > 0) controller.enqueue(chunk);
      else controller.close();
    },
  });
  const response = await withoutBody(new Response(body));
  assert.equal(response.headers.get("content-length"), String(16 * 1024 ** 3));
});

Deno.test("withoutBody() keeps status, headers and the length of what it drops", async () => {
  const response = await withoutBody(sendText("req_1", 404, '{"a":"é"}'));
  assert.equal(response.status, 404);
  assert.equal(response.headers.get("content-length"), "10");
  assert.equal(await response.text(), "");
});

const TEXT = JSON.stringify({ ok: true, data: "é".repeat(5_000) });
const LONG = JSON.stringify({ ok: true, data: "abcdefgh".repeat(50_000) });

function asking(coding: string | null, method = "GET"): Request {
  const headers = coding === null ? undefined : { "accept-encoding": coding };
  return new Request("http://localhost/", { method, headers });
}

async function bytesOf(response: Response): Promise<Uint8Array> {
  return await response.bytes();
}

/** The client's preferred coding among the available ones. */
const CHOICES: readonly (readonly [header: string | null, coding: string | null])[] = [
  [null, null],
  ["", null],
  ["identity", null],
  ["deflate", null],
  ["gzip", "gzip"],
  ["GZIP", "gzip"],
  ["br", "br"],
  ["gzip, br", "br"],
  ["br;q=0.5, gzip", "gzip"],
  ["gzip;q=0.8, br;q=0.8", "br"],
  ["gzip;q=0", null],
  ["*", "br"],
  ["*;q=0.1, br;q=0", "gzip"],
  ["gzip;q=nonsense", null],
];

Deno.test("an Accept-Encoding of more than 1,024 characters is not taken apart", async () => {
  for (const [commas, coding] of [[1020, "gzip"], [1021, null], [60_000, null]] as const) {
    const header = `${",".repeat(commas)}gzip`;
    const response = compress(sendText("r", 200, TEXT), asking(header));
    assert.equal(response.headers.get("content-encoding"), coding);
    await response.body!.cancel();
  }
});

for (const [header, coding] of CHOICES) {
  Deno.test(`Accept-Encoding ${JSON.stringify(header)} is answered ${coding ?? "as it is"}`, async () => {
    const response = compress(sendText("r", 200, TEXT), asking(header));
    assert.equal(response.headers.get("content-encoding"), coding);
    assert.equal(response.headers.get("vary"), "Accept-Encoding");
    assert.equal(response.headers.get("x-request-id"), "r");
    const bytes = await bytesOf(response);
    const plain = coding === "br"
      ? brotliDecompressSync(bytes)
      : coding === "gzip"
      ? gunzipSync(bytes)
      : bytes;
    assert.equal(new TextDecoder().decode(plain), TEXT);
    if (coding !== null) assert.ok(bytes.length < TEXT.length / 10);
  });
}

Deno.test("an answer shorter than 1 KiB is sent as it is, and does not vary", async () => {
  assert.equal(COMPRESS_BYTES_MIN, 1024);
  for (const [length, isCoded] of [[1023, false], [1024, true]] as const) {
    const response = compress(sendText("r", 200, "x".repeat(length)), asking("gzip"));
    assert.equal(response.headers.has("content-encoding"), isCoded);
    assert.equal(response.headers.has("vary"), isCoded);
    await response.body!.cancel();
  }
});

Deno.test("a body that answers share is compressed once, to what its text is compressed to", async () => {
  const shared = new TextEncoder().encode(TEXT);
  for (const header of ["br", "gzip"]) {
    const made: Uint8Array[] = [];
    for (const parts of [[shared], [shared], [TEXT]]) {
      const response = compress(sendParts("r", parts), asking(header));
      assert.equal(response.headers.get("content-encoding"), header);
      made.push(await response.bytes());
    }
    assert.deepEqual(made[0], made[2]);
    assert.deepEqual(made[1], made[2]);
  }
});

Deno.test("a refusal is compressed like any answer, with its status", async () => {
  const response = compress(sendText("r", 422, TEXT), asking("gzip"));
  assert.equal(response.status, 422);
  assert.equal(gunzipSync(await bytesOf(response)).toString(), TEXT);
});

Deno.test("a long answer goes out piece by piece in gzip, without a length", async () => {
  const plain = sendText("r", 200, LONG);
  assert.equal(plain.headers.get("content-length"), String(LONG.length));
  const response = compress(plain, asking("gzip, br"));
  assert.equal(response.headers.get("content-encoding"), "gzip");
  assert.equal(response.headers.get("content-length"), null);
  assert.equal(gunzipSync(await bytesOf(response)).toString(), LONG);
});

Deno.test("an answer of parts is compressed whole where it is short, bytes among them too", async () => {
  const parts = ['{"a":"', new TextEncoder().encode("ü".repeat(1_000)), '"}'];
  const response = compress(sendParts("r", parts), asking("gzip"));
  const text = gunzipSync(await bytesOf(response)).toString();
  assert.equal(text, `{"a":"${"ü".repeat(1_000)}"}`);
});

Deno.test("a stream of unknown length is compressed, and one that is given up ends its source", async () => {
  let isCancelled = false;
  const source = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new TextEncoder().encode("row,".repeat(1_000))),
    cancel: () => void (isCancelled = true),
  });
  const response = compress(mayCompress(new Response(source)), asking("gzip"));
  const reader = response.body!.getReader();
  assert.deepEqual([...(await reader.read()).value!.slice(0, 2)], [0x1f, 0x8b]);
  await reader.cancel();
  assert.ok(isCancelled);
});

Deno.test("HEAD is answered as it would be without a coding", () => {
  const response = compress(sendText("r", 200, LONG), asking("gzip", "HEAD"));
  assert.equal(response.headers.get("content-encoding"), null);
  assert.equal(response.headers.get("content-length"), String(LONG.length));
});

Deno.test("createRequestIds() keeps the client's own id of 1 to 64 letters, digits, _ and -", () => {
  const next = createRequestIds(systemHost());
  for (const own of ["a", "A-9_z", "x".repeat(64)]) assert.equal(next(own), own);
  for (const bad of ["", "x".repeat(65), "a b", "a,b", "é", "a\n"]) {
    assert.match(next(bad), /^[0-9a-f]{32}$/);
  }
});

Deno.test("createRequestIds() gives 1,000 different ids, also across its pool of randomness", () => {
  const next = createRequestIds(systemHost());
  const ids = new Set(Array.from({ length: 1_000 }, () => next(null)));
  assert.equal(ids.size, 1_000);
  for (const id of ids) assert.match(id, /^[0-9a-f]{32}$/);
});
