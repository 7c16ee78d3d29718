/** The document without a key: what its answers hold while nobody reads them. */

import assert from "node:assert/strict";
import { answerBytesHeld } from "../../../src/http/long_answer.ts";
import { scriptApp } from "../scripted_service.ts";

Deno.test("all answers with the document without a spec are of the same bytes", async () => {
  const { app } = scriptApp();
  const buffers = new Set<ArrayBufferLike>();
  for (let i = 0; i < 3; i++) {
    const response = await app.fetch(new Request("http://127.0.0.1/openapi.json"));
    const reader = response.body!.getReader();
    const { value } = await reader.read();
    buffers.add(value!.buffer);
    assert.equal(value!.length, 64 * 1024);
    await reader.cancel();
  }
  assert.equal(buffers.size, 1);
  assert.equal(answerBytesHeld(), 0);
});
