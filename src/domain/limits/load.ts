/**
 * Bounds concurrent requests, so that accepted ones are answered in time whatever the load.
 *
 * By Little's law, the number of requests under way is the rate of answers times the time of
 * each. When answers take too long, the bound drops to the number answered within the target
 * time; when they do not, it grows again. Excess load is shed instead of queued.
 *
 * Each refusal takes time from the requests that were let in, and brings back a client that may
 * ask again at once. Refusals are therefore sent in proportion to answers: however many clients
 * ask, and however fast the machine is, refusals take a small part of its time. No client waits
 * longer than {@link HELD_MS_MAX} for its refusal. Pure arithmetic on the times passed in. See
 * docs/reference/limits.md.
 */

export interface LoadBound {
  /** How many requests may be under way now. */
  max: number;
  underWay: number;
  /**
   * The current interval: when it began, how many requests were answered, how long they took
   * together, and how full the bound was.
   */
  beganMs: number;
  answered: number;
  answeredMs: number;
  most: number;
}

/**
 * How long a request should take on average under full load.
 *
 * With more requests under way each one costs more, because waiting requests outlive the young
 * generation of the heap. The slowest of a hundred requests takes two to three times the
 * average, and each one also waits some event-loop turns before and after the time measured
 * here.
 */
const TARGET_MS = 50;
/** Above this average, fewer requests are let in. */
const SLOW_MS = 75;
/**
 * Requests count as at most this long: an import, a module or a stalling client says nothing
 * about load.
 */
const TOLD_MS_MAX = 1_000;
const INTERVAL_MS = 100;
/**
 * Bounds on the bound: a pause of the machine must not shut everybody out, nor an idle hour let
 * everybody in.
 */
export const UNDER_WAY_MIN = 128;
export const UNDER_WAY_START = 1_000;
export const UNDER_WAY_MAX = 4_000;
const GROWTH = 1.05;
/** While less than this part of the bound is used, it holds nobody back and stays as it is. */
const FULL = 0.75;

export function newLoadBound(nowMs: number): LoadBound {
  const counts = { answered: 0, answeredMs: 0, most: 0 };
  return { max: UNDER_WAY_START, underWay: 0, beganMs: nowMs, ...counts };
}

/**
 * How many heavy writes wait for a place or a turn in this process. They only wait, so they do not
 * count as load.
 */
export const waitingHeavy = { count: 0 };

/**
 * Lets a request in; false when it is one too many. `late` is how many requests inside only
 * wait for a slow client, so they do not count.
 */
export function enter(bound: LoadBound, late = 0): boolean {
  const working = bound.underWay - late;
  if (working >= bound.max) {
    bound.most = bound.max;
    return false;
  }
  bound.underWay++;
  if (working >= bound.most) bound.most = working + 1;
  return true;
}

/**
 * Requests of one instance, and of all, that have places beyond the bound. So the requests of one
 * that sends little are not shed because another one sends too much.
 */
export const RESERVED_EACH = 16;
export const RESERVED_MAX = 256;

/** Lets a request in that has such a place. */
export function enterBeyond(bound: LoadBound): void {
  bound.underWay++;
}

/** Notes the answer to a request that was let in at `enteredMs`. */
export function leave(bound: LoadBound, enteredMs: number, nowMs: number): void {
  bound.underWay--;
  bound.answered++;
  bound.answeredMs += Math.min(nowMs - enteredMs, TOLD_MS_MAX);
  const intervalMs = nowMs - bound.beganMs;
  if (intervalMs < INTERVAL_MS) return;
  bound.max = nextMax(bound, intervalMs);
  bound.beganMs = nowMs;
  bound.answered = 0;
  bound.answeredMs = 0;
  bound.most = 0;
}

function nextMax({ max, most, answered, answeredMs }: LoadBound, intervalMs: number): number {
  if (most < max * FULL) return max;
  const averageMs = answeredMs / answered;
  if (averageMs > SLOW_MS) {
    const inTime = Math.floor(answered / intervalMs * TARGET_MS);
    return Math.max(UNDER_WAY_MIN, Math.min(max, inTime));
  }
  if (averageMs > TARGET_MS) return max;
  return Math.min(UNDER_WAY_MAX, Math.ceil(max * GROWTH));
}

/** Answers that earn one refusal sent before its longest wait. */
const ANSWERS_EACH = 8;
/** No refusal is sent sooner than the first or later than the second. */
export const HELD_MS_MIN = 500;
export const HELD_MS_MAX = 2_000;
/** Refusals that may be sent in a burst after a quiet time. */
export const CREDIT_MAX = 1_000;

/**
 * Paces the refusals of requests that were not let in.
 *
 * Each refusal takes time from the requests that were let in, and brings back a client that may
 * ask again at once. Refusals are therefore sent in proportion to answers: however many clients
 * ask, and however fast the machine is, refusals take a small part of its time. No client waits
 * longer than {@link HELD_MS_MAX} for its refusal.
 */
export interface ShedPace {
  /** Refusals that may be sent now. */
  credit: number;
}

export function newShedPace(): ShedPace {
  return { credit: CREDIT_MAX };
}

/** Notes the answer to a request that was let in. */
export function earnRefusal(pace: ShedPace): void {
  pace.credit = Math.min(CREDIT_MAX, pace.credit + 1 / ANSWERS_EACH);
}

/** Whether to send the refusal that has waited longest. If so, it counts as sent. */
export function tellRefusal(pace: ShedPace, waitedMs: number): boolean {
  if (waitedMs < HELD_MS_MIN) return false;
  if (pace.credit >= 1) pace.credit--;
  else if (waitedMs < HELD_MS_MAX) return false;
  return true;
}
