/**
 * Optimistic concurrency control, small enough to test exhaustively. See
 * docs/reference/writing.md.
 */

import assert from "node:assert/strict";
import { meetsExpectedLength } from "../../../src/domain/write/validate_write.ts";

Deno.test("meetsExpectedLength() accepts the exact length and nothing else", () => {
  for (let length = 0; length <= 20; length++) {
    for (let expected = 0; expected <= 20; expected++) {
      assert.equal(meetsExpectedLength(length, expected), length === expected);
    }
  }
});

Deno.test("meetsExpectedLength() never conflicts without a guard, and absent is not 0", () => {
  for (let length = 0; length <= 20; length++) {
    assert.equal(meetsExpectedLength(length, "any"), true);
  }
  assert.equal(meetsExpectedLength(1, 0), false);
});
