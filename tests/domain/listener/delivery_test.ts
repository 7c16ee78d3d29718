/**
 * What follows each attempt: retries after 5 s, 25 s and 125 s. See
 * docs/reference/listeners.md.
 */

import assert from "node:assert/strict";
import { afterTry, isSuccess, isTooOld } from "../../../src/domain/listener/delivery.ts";
import { limits } from "../../../src/domain/limits.ts";

const NOW = Date.UTC(2026, 0, 1);

Deno.test("each failed try is followed by the next after 5, 25 and 125 seconds, the fourth by none", () => {
  const failed = { status: 500 } as const;
  assert.deepEqual(afterTry(1, failed, NOW), { state: "pending", dueMs: NOW + 5_000 });
  assert.deepEqual(afterTry(2, failed, NOW), { state: "pending", dueMs: NOW + 25_000 });
  assert.deepEqual(afterTry(3, failed, NOW), { state: "pending", dueMs: NOW + 125_000 });
  assert.deepEqual(afterTry(4, failed, NOW), { state: "dead", reason: "tries_used_up" });
});

Deno.test("any 2xx is a success; every other status is a failure", () => {
  for (let status = 100; status <= 999; status++) {
    assert.equal(isSuccess({ status }), status >= 200 && status <= 299, String(status));
  }
  assert.deepEqual(afterTry(1, { status: 204 }, NOW), { state: "delivered" });
  assert.deepEqual(afterTry(4, { status: 200 }, NOW), { state: "delivered" });
});

Deno.test("410 ends a delivery at once, at whichever try", () => {
  for (const tries of [1, 2, 3, 4]) {
    assert.deepEqual(afterTry(tries, { status: 410 }, NOW), { state: "dead", reason: "gone" });
  }
});

Deno.test("redirects and failures without an answer are tried again", () => {
  const answers = [{ status: 302 }, { status: 404 }, { failure: "timeout" }] as const;
  for (const answer of answers) {
    assert.deepEqual(afterTry(1, answer, NOW), { state: "pending", dueMs: NOW + 5_000 });
  }
});

Deno.test("a delivery is too old once it has waited longer than the limit", () => {
  const delivery = { sinceMs: NOW };
  assert.ok(!isTooOld(delivery, NOW + limits.deliveryAgeMsMax));
  assert.ok(isTooOld(delivery, NOW + limits.deliveryAgeMsMax + 1));
});
