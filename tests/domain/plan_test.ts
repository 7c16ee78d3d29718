/** Tiers of `src/domain/plan.ts`: the tables of the contract, number by number. */

import assert from "node:assert/strict";
import { TIERS } from "../../src/domain/access.ts";
import { RATES_PER_MINUTE, UNLIMITED } from "../../src/domain/plan.ts";

Deno.test("rates are those of the contract, for each tier", () => {
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
