/**
 * Write bodies at their limits. Faults of form are golden cases. See docs/reference/limits.md.
 */

import assert from "node:assert/strict";
import { decodeAtomic, decodeBatch } from "../../../src/http/data/write_body.ts";

function events(count: number) {
  return Array.from({ length: count }, () => ({ type: "was_placed", data: {} }));
}

function target(count: number) {
  return { aggregate_type: "order", id: "global", events: events(count) };
}

Deno.test("decodeBatch() takes 10,000 events and refuses 10,001 with 422", () => {
  assert.ok(decodeBatch(["order", "global"], { events: events(10_000), metadata: {} }).ok);
  const outcome = decodeBatch(["order", "global"], { events: events(10_001), metadata: {} });
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
