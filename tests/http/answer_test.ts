/** What all answers have in common. */

import assert from "node:assert/strict";
import { sendOk, sendText, withoutBody } from "../../src/http/answer.ts";

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

Deno.test("withoutBody() keeps status, headers and the length of what it drops", async () => {
  const response = await withoutBody(sendText("req_1", 404, '{"a":"é"}'));
  assert.equal(response.status, 404);
  assert.equal(response.headers.get("content-length"), "10");
  assert.equal(await response.text(), "");
});
