/** Golden cases of `src/http/data/write.ts`, and the largest of its requests and answers. */

import assert from "node:assert/strict";
import { limits } from "../../../src/domain/limits.ts";
import {
  decodeAtomic,
  decodeBatch,
  sendWritten,
  writtenBody,
} from "../../../src/http/data/write.ts";
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

function events(count: number) {
  return Array.from({ length: count }, () => ({ type: "was_placed", data: {} }));
}

function target(count: number) {
  return { aggregate_type: "order", id: "global", events: events(count) };
}

Deno.test("decodeBatch() takes 10,000 events and refuses 10,001 with 422", () => {
  assert.ok(decodeBatch({ events: events(10_000), metadata: {} }, ["order", "global"]).ok);
  const outcome = decodeBatch({ events: events(10_001), metadata: {} }, ["order", "global"]);
  assert.ok(!outcome.ok && outcome.refusal.kind === "write_invalid");
  assert.equal(outcome.refusal.path, "events");
});

Deno.test("decodeAtomic() takes 10 targets of 10,000 events in all and refuses one event more", () => {
  const nine = Array.from({ length: 9 }, () => target(1_000));
  assert.ok(decodeAtomic({ targets: [...nine, target(1_000)], metadata: {} }).ok);
  const outcome = decodeAtomic({ targets: [...nine, target(1_001)], metadata: {} });
  assert.ok(!outcome.ok && outcome.refusal.kind === "write_invalid");
  assert.equal(outcome.refusal.path, "targets");
});

Deno.test("decodeAtomic() tells an absent previous_length from 0", () => {
  const outcome = decodeAtomic({ targets: [target(1), { ...target(1), previous_length: 0 }] });
  assert.ok(outcome.ok);
  assert.deepEqual(outcome.value.targets.map((each) => each.previousLength), [undefined, 0]);
});

Deno.test("the events of all targets are counted before any of them is looked at", () => {
  const events = Array<null>(limits.batchEventsMax / 2 + 1).fill(null);
  const target = { aggregate_type: "order", id: "global", events };
  assert.deepEqual(decodeAtomic({ targets: [target, target], metadata: {} }), {
    ok: false,
    refusal: {
      kind: "write_invalid",
      message: "targets must hold at most 10000 events in all",
      path: "targets",
      hint: undefined,
    },
  });
});
