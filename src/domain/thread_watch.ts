/**
 * Who held the one thread that answers requests. What runs on it cannot be interrupted, so a look
 * at the clock every 20 ms comes late by as long as something held the thread. The work that was
 * under way then tells who it can have been: a request by its route and instance, a worker by its
 * name. Arithmetic on given times; whoever begins work pays some nanoseconds.
 */

import { type Histogram, observe } from "./histogram.ts";
import type { Tenant } from "./tenant.ts";

/** A request or a round of a worker, from its begin to its end. */
export interface Work {
  /** Its place among what is under way. */
  at: number;
  readonly sinceMs: number;
  /** The template of a request's route and its method; or the name of a worker. */
  readonly route?: string;
  readonly method?: string;
  readonly worker?: string;
  /** Knows whose work it is as soon as that is known. */
  owner?: { readonly tenant?: Tenant };
}

export interface ThreadWatch {
  /** How late the looks came, in seconds. */
  readonly delaySeconds: Histogram;
  readonly underWay: Work[];
  /** What has ended since the last look, of what took long. */
  ended: Work[];
  lookedMs: number;
  toldMs: number;
}

/** One who can have held the thread. */
export interface Suspect {
  readonly route?: string;
  readonly worker?: string;
  readonly instance?: string;
  readonly environment?: string;
  /** How long ago it began. */
  readonly since_ms: number;
}

export interface Hold {
  /** Between two looks, so up to {@link LOOK_MS} more than it was. */
  readonly heldMs: number;
  /** How much is under way, or has ended just now after a long time. */
  readonly underWay: number;
  /** The likeliest first. */
  readonly suspects: readonly Suspect[];
}

/** How often the clock is looked at. */
export const LOOK_MS = 20;
/** What holds the thread for longer is told, and at most one hold a second. */
const TOLD_MS_MIN = 100;
const TELL_EVERY_MS = 1_000;
const SUSPECTS_MAX = 5;
/** What ended so soon after its begin did not hold the thread for long. */
const SHORT_MS = TOLD_MS_MIN / 2;
const ENDED_MAX = 64;
/** A machine that slept for a day must not cost a million steps. */
const MISSED_LOOKS_MAX = 1_000;

/** `delaySeconds` is where the delays are counted. */
export function newThreadWatch(delaySeconds: Histogram, nowMs: number): ThreadWatch {
  return { delaySeconds, underWay: [], ended: [], lookedMs: nowMs, toldMs: -Infinity };
}

export function beginWork({ underWay }: ThreadWatch, work: Work): void {
  work.at = underWay.length;
  underWay.push(work);
}

/** The last one takes the place of the one that goes. */
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
 * A look at the clock, {@link LOOK_MS} after the last one if nothing held the thread. Gives the
 * hold where there was one that is to be told.
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
 * One value for each look that was due meanwhile, as late as it would have been: so the histogram
 * shows what somebody who comes at any moment waits, not only how often the thread was held.
 */
function countDelays(delaySeconds: Histogram, lateMs: number): void {
  observe(delaySeconds, lateMs / 1000);
  const missed = Math.min(Math.floor(lateMs / LOOK_MS), MISSED_LOOKS_MAX);
  for (let look = 1; look <= missed; look++) {
    observe(delaySeconds, (lateMs - look * LOOK_MS) / 1000);
  }
}

/**
 * While the thread is held nothing begins. So what began last before the hold is the likeliest, and
 * what is much younger than the hold only waited for its end.
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
