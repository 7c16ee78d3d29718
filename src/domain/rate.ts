/**
 * A sliding window of one minute, as arithmetic on a given time: how many there were, whether one
 * more fits, when there is room again. Time is any clock that goes forward, in milliseconds; one
 * that goes back stands still here. Spec: "Limits"; decided in "Limits and plans".
 *
 * Counted in buckets, so that it costs the same however many there are. What is 60 s old or less
 * counts always, what is older by a bucket or more never: so no minute ever has more than the
 * limit, and nobody waits longer than a minute and a bucket.
 */

const WINDOW_MS = 60_000;

export interface RateWindow {
  readonly bucketMs: number;
  /** A ring: the bucket of number n is at n modulo the length. */
  readonly counts: Uint32Array;
  /** The number of the newest bucket: its time by the length of a bucket. */
  newest: number;
  total: number;
}

/** `bucketMs` divides a minute. */
export function newRateWindow(bucketMs: number): RateWindow {
  // One more than a minute has, for the oldest and the newest are never whole.
  const counts = new Uint32Array(WINDOW_MS / bucketMs + 1);
  return { bucketMs, counts, newest: -Infinity, total: 0 };
}

/** How many count at `nowMs`. */
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

/** Adds `count` at `nowMs`, whatever the limit. */
export function addAt(window: RateWindow, nowMs: number, count = 1): void {
  window.total = countAt(window, nowMs) + count;
  const at = window.newest % window.counts.length;
  window.counts[at] = window.counts[at]! + count;
}

/** From `nowMs` until fewer than `limit` count; 0 where that is so now. */
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
