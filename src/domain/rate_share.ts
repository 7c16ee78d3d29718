/**
 * One limit that several processes share: each takes a small part at a time from a window that the
 * store keeps, and admits requests from that part without asking. So no request waits for the
 * store, and the total is off by no more than what all of them hold: less than 4% of the limit,
 * either way, however the load is spread. Decided in "Limits and plans": "within 5%".
 *
 * Time is that of the window itself, which only goes forward and at the speed of real time,
 * whatever the clocks of the processes say: see {@link takePart}.
 */

import { addAt, countAt, newRateWindow, type RateWindow } from "./rate.ts";

/** What is taken at a time is such a part of the limit, divided by those who take. */
const PART = 0.025;
const BUCKET_MS = 500;
/** A part is used within this time, or not at all: then the window has it still. */
export const PART_MS = 60_000;
/** A holder not heard of for so long has no part any more. */
const HOLDER_MS = PART_MS + BUCKET_MS;
/** Nobody has taken anything for so long that no clock explains it: the window is empty. */
const IDLE_MS = 2 * PART_MS;

/** As it is stored: what was taken in each half second of the window, and who took it. */
export interface SharedWindow {
  /** The time of the window, in milliseconds. */
  readonly atMs: number;
  /** Ascending. */
  readonly taken: readonly (readonly [bucket: number, count: number])[];
  readonly holders: Readonly<Record<string, number>>;
}

export interface PartRequest {
  readonly owner: string;
  /** The window's time as the owner knows it; undefined at its first request. */
  readonly windowMs: number | undefined;
  /** Milliseconds since 1970, for the first request of all. */
  readonly wallMs: number;
  readonly limit: number;
  /** How many are wanted at once: as many requests wait. */
  readonly waiting: number;
}

export interface TakenPart {
  readonly stored: SharedWindow;
  readonly count: number;
  /** How much is usually taken. */
  readonly usual: number;
  /** The window's time now, for the owner to go on from by a clock that only goes forward. */
  readonly windowMs: number;
  /** What is taken, this part too. */
  readonly window: RateWindow;
}

/**
 * A clock is asked only where nobody has taken anything for minutes. Otherwise an owner begins at
 * the time of the last request, which is the past, and whoever knows better tells it: so no clock
 * that is ahead makes the window forget, and none that is behind makes it wait.
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
