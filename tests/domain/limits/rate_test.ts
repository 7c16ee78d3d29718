/** The window of `src/domain/limits/rate.ts`, compared with a list of every request. */

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  addAt,
  countAt,
  newRateWindow,
  type RateWindow,
  roomInMs,
} from "../../../src/domain/limits/rate.ts";

const MINUTE_MS = 60_000;

/** Admits a request as the window's users do. */
function take(window: RateWindow, nowMs: number, limit: number): boolean {
  if (countAt(window, nowMs) >= limit) return false;
  addAt(window, nowMs);
  return true;
}

/** The oracle: how many of `times` are at most this old. */
function within(times: readonly number[], nowMs: number, ageMs: number): number {
  return times.filter((time) => nowMs - time <= ageMs).length;
}

const bucket = fc.constantFrom(100, 1_000, 5_000);
/** Bursts at one moment, steady use, pauses of up to some minutes. */
const gap = fc.oneof(
  { weight: 6, arbitrary: fc.constant(0) },
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 3_000 }) },
  { weight: 2, arbitrary: fc.integer({ min: 3_000, max: 62_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 59_990, max: 300_000 }) },
);

Deno.test("no minute has more than the limit, and nobody is refused who has waited a minute and a bucket", () => {
  let refusals = 0;
  fc.assert(
    fc.property(
      bucket,
      fc.integer({ min: 0, max: 10_000_000 }),
      fc.integer({ min: 1, max: 12 }),
      fc.array(gap, { minLength: 1, maxLength: 150 }),
      (bucketMs, startMs, limit, gaps) => {
        const window = newRateWindow(bucketMs);
        const admitted: number[] = [];
        let nowMs = startMs;
        for (const gapMs of gaps) {
          nowMs += gapMs;
          const isAdmitted = take(window, nowMs, limit);
          if (isAdmitted) {
            admitted.push(nowMs);
            assert.ok(within(admitted, nowMs, MINUTE_MS) <= limit, "too many within a minute");
          } else {
            refusals++;
            assert.ok(within(admitted, nowMs, MINUTE_MS + bucketMs) >= limit, "refused too early");
          }
        }
      },
    ),
    { numRuns: 2_000 },
  );
  assert.ok(refusals > 1_000, `${refusals} refusals were looked at`);
});

Deno.test("roomInMs() tells the first millisecond at which there is room again", () => {
  fc.assert(
    fc.property(
      bucket,
      fc.integer({ min: 1, max: 8 }),
      fc.array(fc.integer({ min: 0, max: 9_000 }), { minLength: 8, maxLength: 40 }),
      (bucketMs, limit, gaps) => {
        const window = newRateWindow(bucketMs);
        let nowMs = 12_345;
        for (const gapMs of gaps) {
          nowMs += gapMs;
          const waitMs = roomInMs(window, nowMs, limit);
          assert.equal(waitMs === 0, countAt(window, nowMs) < limit);
          assert.ok(waitMs <= MINUTE_MS + bucketMs);
          if (waitMs > 0) {
            const before = structuredClone(window);
            assert.ok(countAt(before, nowMs + waitMs - 1) >= limit, "there was room before");
            const after = structuredClone(window);
            assert.ok(countAt(after, nowMs + waitMs) < limit, "there is no room then");
          }
          if (waitMs === 0) addAt(window, nowMs);
        }
      },
    ),
    { numRuns: 500 },
  );
});

Deno.test("a window counts exactly what is no older than a minute where times are those of buckets", () => {
  const window = newRateWindow(100);
  addAt(window, 0, 3);
  addAt(window, 30_000, 4);
  assert.equal(countAt(window, 60_000), 7);
  assert.equal(countAt(window, 60_099), 7);
  assert.equal(countAt(window, 60_100), 4);
  assert.equal(countAt(window, 90_100), 0);
});

Deno.test("a clock that goes back frees nothing, and one that leaps forgets all", () => {
  const window = newRateWindow(100);
  addAt(window, 500_000, 5);
  assert.equal(countAt(window, 100_000), 5);
  addAt(window, 100_000, 2);
  assert.equal(countAt(window, 560_000), 7, "what is counted in the past counts as of now");
  assert.equal(countAt(window, 5_000_000_000), 0);
});

Deno.test("a client at exactly the rate is hardly ever refused", () => {
  const window = newRateWindow(100);
  let refused = 0;
  for (let number = 0; number < 6_000; number++) {
    if (!take(window, number * 100, 600)) refused++;
  }
  // The newest and the oldest bucket are both counted whole: one in six hundred.
  assert.ok(refused <= 10, `${refused} of 6,000 refused`);
});
