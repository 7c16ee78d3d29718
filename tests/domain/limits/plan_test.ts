/** The tiers of `src/domain/limits/plan.ts`, number by number. See docs/reference/limits.md. */

import assert from "node:assert/strict";
import { TIERS } from "../../../src/domain/access/access.ts";
import {
  EVENTS_PER_MONTH,
  isNearLimit,
  RATES_PER_MINUTE,
  UNLIMITED,
} from "../../../src/domain/limits/plan.ts";

Deno.test("rates are those of the reference, for each tier", () => {
  assert.deepEqual(RATES_PER_MINUTE, {
    free: { write: 600, read: 3_000 },
    hobby: { write: 6_000, read: 30_000 },
    pro: { write: 12_000, read: 60_000 },
    scale: { write: 60_000, read: 300_000 },
    unlimited: { write: 2_147_483_647, read: 2_147_483_647 },
  });
  assert.deepEqual(Object.keys(RATES_PER_MINUTE), [...TIERS]);
});

Deno.test("an instance without limits is always shown the same", () => {
  const limit = 2_147_483_647;
  assert.deepEqual(UNLIMITED, { isAdmitted: true, limit, remaining: limit, retryAfterMs: 0 });
});

Deno.test("allocations are those that were decided", () => {
  assert.deepEqual(EVENTS_PER_MONTH, {
    free: 10_000,
    hobby: 1_000_000,
    pro: 10_000_000,
    scale: 100_000_000,
    unlimited: undefined,
  });
});

Deno.test("isNearLimit() is true from 80% on", () => {
  assert.equal(isNearLimit({ usage: 7_999, limit: 10_000 }), false);
  assert.equal(isNearLimit({ usage: 8_000, limit: 10_000 }), true);
  assert.equal(isNearLimit({ usage: 10_001, limit: 10_000 }), true);
});
