/**
 * A sliding window of one minute that counts requests for a rate limit.
 *
 * It is arithmetic on the times passed in: how many requests count, and when there is room
 * again. Times are milliseconds of any clock that moves forward; a clock that moves back stands
 * still here. The window counts in buckets, so its cost does not depend on the number of
 * requests. Whatever is at most 60 s old always counts, and whatever is older by a bucket or
 * more never does. Therefore no minute ever exceeds the limit, and nobody waits longer than a
 * minute and one bucket. See docs/reference/limits.md.
 */

const WINDOW_MS = 60_000;

export interface RateWindow {
  readonly bucketMs: number;
  /** A ring: bucket number n is at n modulo the length. */
  readonly counts: Uint32Array;
  /** The number of the newest bucket: its time divided by the length of a bucket. */
  newest: number;
  total: number;
}

/** `bucketMs` must divide a minute. */
export function newRateWindow(bucketMs: number): RateWindow {
  // One bucket more than fits into a minute, because the oldest and the newest are partial.
  const counts = new Uint32Array(WINDOW_MS / bucketMs + 1);
  return { bucketMs, counts, newest: -Infinity, total: 0 };
}

/** How many requests count at `nowMs`. */
export function countAt(window: RateWindow, nowMs: number): number {
  const { bucketMs, counts } = window;
  const bucket = Math.floor(nowMs / bucketMs);
  if (bucket <= window.newest) return window.total;
  if (bucket - window.newest >= counts.length) {
    counts.fill(0);
    window.total = 0;
  } else {
    for (let number = window.newest + 1; number <= bucket; number++) {
      const at = number % counts.length;
      window.total -= counts[at]!;
      counts[at] = 0;
    }
  }
  window.newest = bucket;
  return window.total;
}

/** Adds `count` at `nowMs`, even beyond the limit. */
export function addAt(window: RateWindow, nowMs: number, count = 1): void {
  window.total = countAt(window, nowMs) + count;
  const at = window.newest % window.counts.length;
  window.counts[at] = window.counts[at]! + count;
}

/** Milliseconds from `nowMs` until fewer than `limit` requests count; 0 if that is so now. */
export function roomInMs(window: RateWindow, nowMs: number, limit: number): number {
  let left = countAt(window, nowMs);
  const { bucketMs, counts, newest } = window;
  if (left < limit) return 0;
  for (let number = newest + 1; number <= newest + counts.length; number++) {
    left -= counts[number % counts.length]!;
    if (left < limit) return number * bucketMs - nowMs;
  }
  return WINDOW_MS + bucketMs;
}
