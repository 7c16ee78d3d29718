/**
 * Rate limits of `src/features/limits/admit_request.ts`: exact numbers, with a clock set by
 * hand.
 */

import assert from "node:assert/strict";
import { createRequestAdmission } from "../../../src/features/limits/admit_request.ts";
import type { Instance, Tier } from "../../../src/domain/access/access.ts";
import type { RateKind, RateVerdict } from "../../../src/domain/limits/plan.ts";
import { fakeHost } from "../../support/fake_host.ts";

function instance(tier: Tier, id = "one"): Instance {
  return { id, slug: id, tier, created_at: "2026-01-01T00:00:00.000Z" };
}

function open() {
  const host = fakeHost();
  // The monotonic clock goes on while the wall clock jumps.
  let monotonicMs = 5_000;
  const admission = createRequestAdmission({ ...host, monotonicMs: () => monotonicMs });
  return {
    host,
    wait: (ms: number) => void (monotonicMs += ms),
    ask: async (of: Instance, kind: RateKind, times = 1) => {
      let last!: RateVerdict;
      for (let time = 0; time < times; time++) last = await admission.admit(of, kind);
      return last;
    },
  };
}

for (
  const [tier, writes, reads] of [
    ["free", 600, 3_000],
    ["hobby", 6_000, 30_000],
    ["pro", 12_000, 60_000],
    ["scale", 60_000, 300_000],
  ] as const
) {
  Deno.test(`${tier}: a burst of ${writes} writes and of ${reads} reads is admitted, and no more`, async () => {
    const { ask, wait } = open();
    for (const [kind, limit] of [["write", writes], ["read", reads]] as const) {
      const first = await ask(instance(tier), kind);
      assert.deepEqual(first, { isAdmitted: true, limit, remaining: limit - 1, retryAfterMs: 0 });
      const last = await ask(instance(tier), kind, limit - 1);
      assert.deepEqual(last, { isAdmitted: true, limit, remaining: 0, retryAfterMs: 0 });
      const refused = { isAdmitted: false, limit, remaining: 0, retryAfterMs: 60_100 };
      assert.deepEqual(await ask(instance(tier), kind), refused);
    }
    wait(60_099);
    assert.equal((await ask(instance(tier), "write")).isAdmitted, false);
    wait(1);
    assert.equal((await ask(instance(tier), "write")).remaining, writes - 1);
    assert.equal((await ask(instance(tier), "read")).remaining, reads - 1);
  });
}

Deno.test("instances are counted apart, reads and writes too", async () => {
  const { ask } = open();
  await ask(instance("free", "one"), "write", 601);
  assert.equal((await ask(instance("free", "one"), "write")).isAdmitted, false);
  assert.equal((await ask(instance("free", "one"), "read")).remaining, 2_999);
  assert.equal((await ask(instance("free", "two"), "write")).remaining, 599);
});

Deno.test("a tier counts from the next request on, and what was admitted stays counted", async () => {
  const { ask } = open();
  await ask(instance("free"), "write", 600);
  assert.equal((await ask(instance("free"), "write")).isAdmitted, false);
  assert.equal((await ask(instance("hobby"), "write")).remaining, 6_000 - 601);
  assert.equal((await ask(instance("free"), "write")).isAdmitted, false);
});

Deno.test("a leap of the wall clock, forward or back, gives nothing and takes nothing", async () => {
  const { ask, host, wait } = open();
  await ask(instance("free"), "write", 600);
  for (const leapMs of [3_600_000, -7_200_000, 86_400_000]) {
    host.timeMs += leapMs;
    assert.equal((await ask(instance("free"), "write")).isAdmitted, false);
  }
  wait(60_100);
  assert.equal((await ask(instance("free"), "write")).isAdmitted, true);
});

Deno.test("the window slides: what was used early comes back early", async () => {
  const { ask, wait } = open();
  await ask(instance("free"), "write", 100);
  wait(30_000);
  await ask(instance("free"), "write", 500);
  assert.equal((await ask(instance("free"), "write")).retryAfterMs, 30_100);
  wait(30_100);
  assert.equal((await ask(instance("free"), "write", 100)).remaining, 0);
  assert.equal((await ask(instance("free"), "write")).isAdmitted, false);
});
