/**
 * The documented limits, written down a second time to catch typos. See
 * docs/reference/limits.md.
 */

import assert from "node:assert/strict";
import { limits } from "../../src/domain/limits.ts";

Deno.test("the limits that clients build on have these numbers", () => {
  assert.equal(limits.eventDataBytesMax, 102_400);
  assert.equal(limits.batchEventsMax, 10_000);
  assert.equal(limits.specBytesMax, 1_048_576);
  assert.equal(limits.atomicTargetsMax, 10);
  assert.equal(limits.eventsPageDefault, 500);
  assert.equal(limits.eventsPageMax, 5_000);
  assert.equal(limits.pageBytesMax, 4_194_304);
  assert.equal(limits.listPageDefault, 50);
  assert.equal(limits.listPageMax, 200);
  assert.equal(limits.foldBytesMax, 33_554_432);
  assert.equal(limits.idempotencyKeyCharactersMax, 255);
  assert.equal(limits.idempotencyRetentionSeconds, 86_400);
  assert.equal(limits.errorRecordRetentionSeconds, 86_400);
});
