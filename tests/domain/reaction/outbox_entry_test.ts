/** When other processes may take an outbox entry, and the pauses between tries. */

import assert from "node:assert/strict";
import { limits } from "../../../src/domain/limits.ts";
import {
  isEntryDue,
  retryPauseMs,
  type WaitingEntry,
} from "../../../src/domain/reaction/outbox_entry.ts";

const entry = { kind: "sagas", eventType: "was_placed", requestId: "r" } as const;
const waiting: WaitingEntry = { entry, sinceMs: 1_000_000, waitMs: 1_000, tries: 0 };

Deno.test("isEntryDue() leaves an entry to its writer for as long as it says", () => {
  assert.equal(isEntryDue(waiting, 1_000_000), false);
  assert.equal(isEntryDue(waiting, 1_000_999), false);
  assert.equal(isEntryDue(waiting, 1_001_000), true);
  assert.equal(isEntryDue({ ...waiting, waitMs: 0 }, 1_000_000), true);
});

Deno.test("isEntryDue() takes the clocks of two processes for equal, and no clock stops the work", () => {
  assert.equal(isEntryDue(waiting, 1_000_000 - 10_000), false, "another clock, a little behind");
  assert.equal(isEntryDue(waiting, 1_000_000 - 10_001), true, "a clock that was set back");
});

Deno.test("retryPauseMs() doubles up to a minute, and spreads over its second half", () => {
  const pauses = Array.from({ length: 12 }, (_, n) => retryPauseMs(n + 1, 0));
  assert.deepEqual(pauses.slice(0, 7), [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000]);
  assert.ok(pauses.slice(7).every((pause) => pause === limits.reactionRetryMsMax));
  assert.equal(retryPauseMs(3, 1), 1_000);
  assert.equal(retryPauseMs(3, 0.5), 1_500);
});
