/**
 * Finds out which work held the one thread that answers requests.
 *
 * Work on the thread cannot be interrupted, so a look at the clock every {@link LOOK_MS} comes
 * late by as long as something held the thread. The work under way at that time then shows the
 * suspects: requests by route and instance, workers by name. Pure arithmetic on the times
 * passed in; noting the start of work costs nanoseconds.
 */

import { type Histogram, observe } from "../measures/counters.ts";
import type { Tenant } from "../tenant.ts";

/** A request or a worker's round, from its start to its end. */
export interface Work {
  /** Index in the list of work under way. */
  at: number;
  readonly sinceMs: number;
  /** The request's route template and method, or the name of a worker. */
  readonly route?: string;
  readonly method?: string;
  readonly worker?: string;
  /** The owner, whose tenant is filled in as soon as it is known. */
  owner?: { readonly tenant?: Tenant };
}

export interface ThreadWatch {
  /** How late the looks came, in seconds. */
  readonly delaySeconds: Histogram;
  readonly underWay: Work[];
  /** Long-running work that has ended since the last look. */
  ended: Work[];
  lookedMs: number;
  toldMs: number;
}

/** Work that may have held the thread. */
export interface Suspect {
  readonly route?: string;
  readonly worker?: string;
  readonly instance?: string;
  readonly environment?: string;
  /** Milliseconds since it began. */
  readonly since_ms: number;
}

export interface Hold {
  /** The time between two looks, so up to {@link LOOK_MS} more than the hold itself. */
  readonly heldMs: number;
  /** Work under way, together with long-running work that has just ended. */
  readonly underWay: number;
  /** The likeliest first. */
  readonly suspects: readonly Suspect[];
}

/** How often the clock is looked at. */
export const LOOK_MS = 20;
/** A hold longer than this is reported, but at most one hold a second. */
const TOLD_MS_MIN = 100;
const TELL_EVERY_MS = 1_000;
const SUSPECTS_MAX = 5;
/** Work that ended this soon after its start did not hold the thread for long. */
const SHORT_MS = TOLD_MS_MIN / 2;
const ENDED_MAX = 64;
/** A machine that slept for a day must not cost a million steps. */
const MISSED_LOOKS_MAX = 1_000;

/** The delays are counted in `delaySeconds`. */
export function newThreadWatch(delaySeconds: Histogram, nowMs: number): ThreadWatch {
  return { delaySeconds, underWay: [], ended: [], lookedMs: nowMs, toldMs: -Infinity };
}

export function beginWork({ underWay }: ThreadWatch, work: Work): void {
  work.at = underWay.length;
  underWay.push(work);
}

/** Removes the work from the list. The last entry takes its place. */
export function endWork(watch: ThreadWatch, work: Work, nowMs: number): void {
  const { underWay, ended } = watch;
  const last = underWay.pop()!;
  if (last !== work) {
    underWay[work.at] = last;
    last.at = work.at;
  }
  if (nowMs - work.sinceMs > SHORT_MS && ended.length < ENDED_MAX) ended.push(work);
}

/**
 * Looks at the clock, {@link LOOK_MS} after the last look if nothing held the thread. Returns
 * the hold if there was one to report.
 */
export function look(watch: ThreadWatch, nowMs: number): Hold | undefined {
  const { underWay, ended, lookedMs } = watch;
  const heldMs = nowMs - lookedMs;
  countDelays(watch.delaySeconds, Math.max(0, heldMs - LOOK_MS));
  watch.lookedMs = nowMs;
  if (ended.length > 0) watch.ended = [];
  if (heldMs <= TOLD_MS_MIN || nowMs - watch.toldMs < TELL_EVERY_MS) return undefined;
  watch.toldMs = nowMs;
  const suspects = [...rank(ended, heldMs, nowMs), ...rank(underWay, heldMs, nowMs)];
  return {
    heldMs,
    underWay: underWay.length + ended.length,
    suspects: suspects.slice(0, SUSPECTS_MAX).map((work) => describe(work, nowMs)),
  };
}

/**
 * Counts one value for each look that was due during the hold, as late as that look would have
 * been. The histogram then shows how long work waits that arrives at any moment, and not only
 * how often the thread was held.
 */
function countDelays(delaySeconds: Histogram, lateMs: number): void {
  observe(delaySeconds, lateMs / 1000);
  const missed = Math.min(Math.floor(lateMs / LOOK_MS), MISSED_LOOKS_MAX);
  for (let look = 1; look <= missed; look++) {
    observe(delaySeconds, (lateMs - look * LOOK_MS) / 1000);
  }
}

/**
 * Nothing begins while the thread is held. So the work that began last before the hold is the
 * likeliest, and work much younger than the hold only waited for its end.
 */
function rank(works: readonly Work[], heldMs: number, nowMs: number): Work[] {
  return works.filter(({ sinceMs }) => nowMs - sinceMs > heldMs / 2)
    .sort((a, b) => b.sinceMs - a.sinceMs);
}

function describe({ route, method, worker, owner, sinceMs }: Work, nowMs: number): Suspect {
  const { instanceId: instance, environment } = owner?.tenant ?? {};
  return {
    ...(route !== undefined && { route: `${method} ${route}` }),
    ...(worker !== undefined && { worker }),
    ...(instance !== undefined && { instance, environment }),
    since_ms: Math.round(nowMs - sinceMs),
  };
}
