/**
 * Shares one rate limit among several processes.
 *
 * Each process takes small parts from a window in the store and admits requests from its part
 * without asking again, so requests seldom wait for the store. The total is off by no more than
 * what all processes hold: less than 4 % of the limit, either way, however the load is spread.
 * The promise is 5 %. See docs/reference/limits.md.
 *
 * Time is the window's own. It only moves forward, at the speed of real time, whatever the
 * clocks of the processes say: see {@link takePart}.
 */

import { addAt, countAt, newRateWindow, type RateWindow } from "./rate.ts";

/**
 * A part is usually this fraction of the limit, divided by the number of processes that take
 * parts.
 */
const PART = 0.025;
const BUCKET_MS = 500;
/** A part must be used within this time. After that it expires, and the window forgets it too. */
export const PART_MS = 60_000;
/** A holder that has taken nothing for this long has no part any more. */
const HOLDER_MS = PART_MS + BUCKET_MS;
/** If nobody has taken anything for this long, no clock error explains it: the window is empty. */
const IDLE_MS = 2 * PART_MS;

/** The window as stored: how much was taken in each half second of its time, and by whom. */
export interface SharedWindow {
  /** The time of the window, in milliseconds. */
  readonly atMs: number;
  /** Ascending by bucket. */
  readonly taken: readonly (readonly [bucket: number, count: number])[];
  readonly holders: Readonly<Record<string, number>>;
}

export interface PartRequest {
  readonly owner: string;
  /** The window's time as the owner knows it; undefined at its first request. */
  readonly windowMs: number | undefined;
  /** Milliseconds since 1970. Used only when there is no other source of the window's time. */
  readonly wallMs: number;
  readonly limit: number;
  /** How many requests wait for a part, and so how many are wanted at once. */
  readonly waiting: number;
}

export interface TakenPart {
  readonly stored: SharedWindow;
  readonly count: number;
  /** The usual size of a part. */
  readonly usual: number;
  /** The window's time now. The owner goes on from here by a monotonic clock. */
  readonly windowMs: number;
  /** Everything taken in the window, including this part. */
  readonly window: RateWindow;
}

/**
 * Takes a part for one owner.
 *
 * A wall clock is consulted only when nobody has taken anything for minutes. Otherwise a new
 * owner starts at the time of the last request, which lies in the past, and later requests of
 * owners that know better move the time on. So a clock that runs ahead cannot make the window
 * forget, and one that runs behind cannot make it wait.
 */
export function takePart(stored: SharedWindow | undefined, request: PartRequest): TakenPart {
  const { owner, limit, waiting } = request;
  const windowMs = timeOf(stored, request);
  const window = newRateWindow(BUCKET_MS);
  for (const [bucket, count] of stored?.taken ?? []) addAt(window, bucket * BUCKET_MS, count);
  const used = countAt(window, windowMs);
  const holders: Record<string, number> = { [owner]: windowMs };
  for (const [name, atMs] of Object.entries(stored?.holders ?? {})) {
    if (name !== owner && windowMs - atMs < HOLDER_MS) holders[name] = atMs;
  }
  const usual = Math.max(1, Math.floor(limit * PART / Object.keys(holders).length));
  const count = Math.max(0, Math.min(Math.max(usual, waiting), limit - used));
  if (count > 0) addAt(window, windowMs, count);
  const taken = entriesOf(window);
  return { stored: { atMs: windowMs, taken, holders }, count, usual, windowMs, window };
}

function timeOf(stored: SharedWindow | undefined, { windowMs, wallMs }: PartRequest): number {
  if (stored === undefined) return windowMs ?? wallMs;
  if (windowMs !== undefined) return Math.max(windowMs, stored.atMs);
  return wallMs - stored.atMs >= IDLE_MS ? wallMs : stored.atMs;
}

function entriesOf({ counts, newest }: RateWindow): [number, number][] {
  const entries: [number, number][] = [];
  for (let bucket = Math.max(0, newest - counts.length + 1); bucket <= newest; bucket++) {
    const count = counts[bucket % counts.length]!;
    if (count > 0) entries.push([bucket, count]);
  }
  return entries;
}
