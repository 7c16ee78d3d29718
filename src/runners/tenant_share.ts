/**
 * What is known of a tenant of a queue: what waits, what it has used, what was stopped of it. Who
 * comes before whom follows from that.
 */

/** One call, or one more turn of a long fold. */
export interface Waiting<J> {
  readonly job: J;
  readonly tenant: string;
  /** What is paused as one: an entrypoint of a module, a statement. */
  readonly lane: string;
  /** May be run with others. */
  readonly isShort: boolean;
  readonly sinceMs: number;
}

/** A pause is the time of the call that was stopped, times this at most. */
const PAUSE_FACTOR_MAX = 15;
const PAUSE_MS_MAX = 10_000;
/** A lane's timeouts are forgotten so long after its pause, and that a call was displaced. */
export const FORGET_MS = 30_000;
/** What runs longer does so at the pleasure of others. */
export const LONG_MS = 100;

/** What is paused as one. */
export interface Lane<J> {
  readonly jobs: Waiting<J>[];
  running: number;
  /** Calls in a row that were stopped for their time. */
  timeouts: number;
  pausedUntilMs: number;
}

/** What a tenant with quick calls may have used more than others and still be before them. */
const LEAD_MS = 200;

export interface Tenant<J> {
  readonly lanes: Map<string, Lane<J>>;
  /** Its last call that was tried has ended within {@link LONG_MS}. */
  isQuick: boolean;
  /** When it is forgotten that a call of it was displaced, and that one did not end in time. */
  displacedUntilMs: number;
  stoppedUntilMs: number;
  /** Runners that it has. */
  running: number;
  waiting: number;
  /** The time it has used, on the clock of the queue. */
  usedMs: number;
}

/** What one runner has. */
export interface Run<J> {
  readonly group: readonly Waiting<J>[];
  readonly tenant: Tenant<J>;
  /** Infinite while there is no runner yet. */
  startedMs: number;
  isDisplaced: boolean;
}

/** Who may have the next runner; a suspect is one of whom something was stopped of late. */
export interface Candidate<J> {
  readonly tenant: Tenant<J>;
  readonly lane: Lane<J>;
  readonly isSuspect: boolean;
}

/** How long a lane is paused after so many timeouts in a row: 1, 3, 7, then 15 times its time. */
export function pauseAfter(timeouts: number, usedMs: number): number {
  const factor = Math.min(2 ** timeouts - 1, PAUSE_FACTOR_MAX);
  return Math.min(factor * usedMs, PAUSE_MS_MAX);
}

export function isBefore<J>(
  tenant: Tenant<J>,
  isSuspect: boolean,
  other: Candidate<J>,
): boolean {
  if (isSuspect !== other.isSuspect) return other.isSuspect;
  const [tag, otherTag] = [tagOf(tenant), tagOf(other.tenant)];
  // What runs is not charged yet.
  return tag === otherTag ? tenant.running < other.tenant.running : tag < otherTag;
}

function tagOf<J>({ usedMs, isQuick }: Tenant<J>): number {
  return isQuick ? usedMs - LEAD_MS : usedMs;
}

export function isLong<J>({ startedMs }: Run<J>, nowMs: number): boolean {
  return startedMs + LONG_MS <= nowMs;
}

/** Of two that run long, the one that is to make room. */
export function isWorse<J>(run: Run<J>, other: Run<J>, nowMs: number): boolean {
  const [isSuspect, isOtherSuspect] = [
    wasStopped(run.tenant, nowMs),
    wasStopped(other.tenant, nowMs),
  ];
  return isSuspect === isOtherSuspect ? run.startedMs < other.startedMs : isSuspect;
}

/** Whether a call of it did not end in time, or was displaced, of late. */
export function wasStopped<J>(
  { displacedUntilMs, stoppedUntilMs }: Tenant<J>,
  nowMs: number,
): boolean {
  return nowMs < displacedUntilMs || nowMs < stoppedUntilMs;
}

/** Whether a lane of which something was stopped is running again. */
export function isTrying<J>({ lanes }: Tenant<J>): boolean {
  for (const { running, timeouts } of lanes.values()) if (running > 0 && timeouts > 0) return true;
  return false;
}

/** The lane whose first job has waited longest, of those that are not paused, or never were. */
export function nextLane<J>(
  tenant: Tenant<J>,
  nowMs: number,
  isGood = false,
): Lane<J> | undefined {
  let oldest: Lane<J> | undefined;
  for (const lane of tenant.lanes.values()) {
    const first = lane.jobs[0];
    if (first === undefined || nowMs < lane.pausedUntilMs) continue;
    if (isGood && lane.timeouts > 0) continue;
    if (oldest === undefined || first.sinceMs < oldest.jobs[0]!.sinceMs) oldest = lane;
  }
  return oldest;
}
