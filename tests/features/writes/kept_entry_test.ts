/** An outbox entry kept in memory equals the stored one, whatever its size. */

import assert from "node:assert/strict";
import { keepEncoded } from "../../../src/features/writes/kept_entry.ts";
import type { EmitEntry } from "../../../src/domain/reaction/outbox_entry.ts";
import { streamKey } from "../../../src/domain/stream_key.ts";

function entryOf(text: string): EmitEntry {
  const key = streamKey("order", "global");
  return {
    kind: "emit",
    emission: { key, aggregateType: "order", id: "global", eventType: "was_met", data: { text } },
    actor: { type: "user", id: "global" },
    eventType: "was_placed",
    depth: 1,
    requestId: "r",
  };
}

for (const length of [1, 1_000, 2_000, 90_000]) {
  Deno.test(`an entry with ${length} characters of data is as it was, and as its bytes are`, () => {
    const entry = entryOf("é".repeat(length));
    const kept = keepEncoded({ entry, sinceMs: 1, waitMs: 2, tries: 0 });
    const stored = JSON.parse(new TextDecoder().decode(kept.value));
    assert.deepEqual(stored, { entry, sinceMs: 1, waitMs: 2, tries: 0 });
    assert.equal(JSON.stringify(kept.entry), JSON.stringify(entry));
  });
}

Deno.test("what is large has no object in memory", () => {
  const { emission } = keepEncoded({
    entry: entryOf("a".repeat(3_000)),
    sinceMs: 1,
    waitMs: 2,
    tries: 0,
  }).entry;
  assert.notEqual(emission.data, emission.data, "it is made anew each time");
});
