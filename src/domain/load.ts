/**
 * How many requests may be under way, so that those that are accepted are answered in time whatever
 * arrives: as arithmetic on given times. By Little's law the requests under way are the rate of
 * answers times how long each takes, so where answers take too long, the bound becomes what is
 * answered within the time that they should take; where they do not, it grows again. Decided in
 * "Operations": load is shed instead of piled up.
 */

export interface LoadBound {
  /** How many may be under way now. */
  max: number;
  underWay: number;
  /** Of the interval under way: its begin, what was answered, in how long, how full it was. */
  beganMs: number;
  answered: number;
  answeredMs: number;
  most: number;
}

/**
 * What a request should take on average while others wait. With more under way each costs more, for
 * what waits outlives the young part of the heap: of durable writes 512 at a time cost as much as
 * 64, 900 a quarter more. The slowest of a hundred takes two to three times the average, and before
 * and after what is seen here each waits for some turns of the event loop.
 */
const TARGET_MS = 50;
/** Where they take longer on average, fewer are let in. */
const SLOW_MS = 75;
/** What takes longer tells nothing of the load: an import, a module, a client that stalls. */
const TOLD_MS_MAX = 1_000;
const INTERVAL_MS = 100;
/** A pause of the machine must not close the door, nor an idle hour open it. */
export const UNDER_WAY_MIN = 128;
export const UNDER_WAY_START = 1_000;
export const UNDER_WAY_MAX = 4_000;
const GROWTH = 1.05;
/** The bound holds back nobody while less than so much of it is used. */
const FULL = 0.75;

export function newLoadBound(nowMs: number): LoadBound {
  const counts = { answered: 0, answeredMs: 0, most: 0 };
  return { max: UNDER_WAY_START, underWay: 0, beganMs: nowMs, ...counts };
}

/** Lets a request in: false where it is one too many. `late` of those inside do not count. */
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

/** A request that was let in at `enteredMs` is answered. */
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
