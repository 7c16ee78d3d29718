/** Golden cases of `src/http/data/write.ts`, and the largest of its answers. */

import assert from "node:assert/strict";
import { sendWritten, writtenBody } from "../../../src/http/data/write.ts";
import { testGoldenCases } from "../golden_cases.ts";

testGoldenCases("write");

Deno.test("writtenBody() of a batch of 10,000 names each id once, in order", () => {
  const body = JSON.parse(writtenBody({
    form: "batch",
    targets: [{ key: "order:global", first: 7, count: 10_000 }],
    impliedCount: 0,
    replayed: false,
    requestId: "r",
  }));
  assert.equal(body.count, 10_000);
  assert.equal(new Set(body.stream_ids).size, 10_000);
  assert.deepEqual([body.stream_ids[0], body.stream_ids.at(-1)], ["000000000007", "000000010006"]);
});

Deno.test("sendWritten() replays with the header and request id of the write that landed", () => {
  const targets = [{ key: "order:global", first: 0, count: 1 }];
  const written = { form: "single", targets, impliedCount: 0, requestId: "first" } as const;
  const replay = sendWritten("second", { ...written, replayed: true });
  assert.equal(replay.headers.get("x-request-id"), "first");
  assert.equal(replay.headers.get("x-idempotency-replayed"), "true");
  const landed = sendWritten("first", { ...written, replayed: false });
  assert.equal(landed.headers.get("x-idempotency-replayed"), null);
});
