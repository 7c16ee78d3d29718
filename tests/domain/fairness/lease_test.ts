/** When a lease may be used, and when it may be taken over. */

import assert from "node:assert/strict";
import {
  isLeaseOver,
  isRunning,
  LEASE_LIFETIME_MS,
  LEASE_RENEWAL_MS,
  LEASE_SKEW_MS,
  leaseEnd,
} from "../../../src/domain/fairness/lease.ts";

const madeMs = 1_000_000;
const lease = { owner: "a", endsMs: leaseEnd(madeMs) };

Deno.test("isRunning() and isLeaseOver() are never both true while clocks differ by no more than allowed", () => {
  for (let skew = -LEASE_SKEW_MS; skew <= LEASE_SKEW_MS; skew += 250) {
    for (let age = 0; age <= 3 * LEASE_LIFETIME_MS; age += 250) {
      const nowMs = madeMs + age;
      const both = isRunning(lease, nowMs) && isLeaseOver(lease, nowMs + skew);
      assert.ok(!both, `age ${age}, the other's clock ${skew} ahead`);
    }
  }
});

Deno.test("isLeaseOver() is true at the end, the clocks' difference added", () => {
  assert.equal(isLeaseOver(lease, lease.endsMs + LEASE_SKEW_MS - 1), false);
  assert.equal(isLeaseOver(lease, lease.endsMs + LEASE_SKEW_MS), true);
});

Deno.test("isLeaseOver() is true of what nobody owns, and of what a clock far ahead has left", () => {
  assert.equal(isLeaseOver({ ...lease, owner: "" }, madeMs), true);
  const hourAhead = { owner: "a", endsMs: leaseEnd(madeMs + 3_600_000) };
  assert.equal(isLeaseOver(hourAhead, madeMs), true);
});

Deno.test("a lease outlives three renewals that fail", () => {
  assert.ok(LEASE_LIFETIME_MS > 4 * LEASE_RENEWAL_MS);
});
