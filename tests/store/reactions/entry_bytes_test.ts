/** The bytes of an outbox entry tell its times, and stand in for its data. */

import assert from "node:assert/strict";
import { streamKey } from "../../../src/domain/identifier.ts";
import type { EmitEntry, WaitingEntry } from "../../../src/domain/reaction/outbox_entry.ts";
import { encodeEntry, entryTimes, openEntry } from "../../../src/store/reactions/entry_bytes.ts";

const PLACE = { tenant: 1, stream: streamKey("order", "global"), index: 0, number: 0 };

function waitingOf(text: string): WaitingEntry & { readonly entry: EmitEntry } {
  const key = streamKey("ledger", "global");
  return {
    entry: {
      kind: "emit",
      emission: { key, aggregateType: "ledger", id: "global", eventType: "met", data: { text } },
      actor: { type: "user", id: "global" },
      eventType: "was_placed",
      depth: 1,
      requestId: "r",
    },
    sinceMs: 1_767_225_600_123,
    waitMs: 60_000,
    tries: 3,
  };
}

Deno.test("entryTimes() gives the times of an entry, whatever its data looks like", () => {
  for (
    const text of ["", "é".repeat(70), '"sinceMs":1,"waitMs":2,"tries":9}', "x".repeat(90_000)]
  ) {
    const { entry: _, ...times } = waitingOf(text);
    assert.deepEqual(entryTimes(encodeEntry(waitingOf(text))), times);
  }
  const root = { ...waitingOf(""), sinceMs: 0.5, waitMs: 0, tries: 0 };
  const { sinceMs, waitMs, tries } = entryTimes(encodeEntry(root));
  assert.deepEqual([sinceMs, waitMs, tries], [0.5, 0, 0]);
});

Deno.test("entryTimes() looks at the end alone: what is before it is not decoded", () => {
  const bytes = encodeEntry(waitingOf("x".repeat(1_000))).slice();
  bytes.fill("!".charCodeAt(0), 0, bytes.length - 128);
  assert.equal(entryTimes(bytes).waitMs, 60_000);
});

Deno.test("openEntry() gives the entry as it was, with data that is made anew each time", () => {
  const waiting = waitingOf("x".repeat(200));
  const work = openEntry(PLACE, encodeEntry(waiting));
  const { place, bytes, ...rest } = work;
  assert.deepEqual(rest, waiting);
  assert.deepEqual([place, bytes], [PLACE, encodeEntry(waiting).length]);
  const { emission } = work.entry as EmitEntry;
  assert.notEqual(emission.data, emission.data);
});

Deno.test("openEntry() keeps what is shown to sagas as it is", () => {
  const entry = { kind: "sagas", eventType: "was_placed", requestId: "r" } as const;
  const waiting = { entry, sinceMs: 1, waitMs: 2, tries: 0 };
  const { place: _, bytes: __, ...rest } = openEntry(PLACE, encodeEntry(waiting));
  assert.deepEqual(rest, waiting);
});
