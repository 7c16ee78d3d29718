/**
 * What the queue knows of a tenant: its waiting jobs, its used time and its stopped calls. The
 * order in which tenants get a runner follows from that.
 */

/** A job in the queue: one call, or one more turn of a long fold. */
export interface Waiting<J> {
  readonly job: J;
  readonly tenant: string;
  /** The calls that are paused together: those of an entrypoint of a module, or of a statement. */
  readonly lane: string;
  /** Whether it may run in one group with others. */
  readonly isShort: boolean;
  readonly sinceMs: number;
}

/** A pause lasts at most this many times as long as the call that was stopped. */
const PAUSE_FACTOR_MAX = 15;
const PAUSE_MS_MAX = 10_000;
/** How long timeouts are remembered after the pause of their lane, and a displaced call. */
export const FORGET_MS = 30_000;
/** A call that runs longer than this may be displaced when others wait. */
export const LONG_MS = 100;

/** The calls that are paused together. */
export interface Lane<J> {
  readonly jobs: Waiting<J>[];
  running: number;
  /** Calls in a row that were stopped because their time was up. */
  timeouts: number;
  pausedUntilMs: number;
}

/** How much more than others a tenant with quick calls may have used and still come before them. */
const LEAD_MS = 200;

export interface Tenant<J> {
  readonly lanes: Map<string, Lane<J>>;
  /** Whether its last call that was tried ended in time and within {@link LONG_MS}. */
  isQuick: boolean;
  /** Until when the tenant is a suspect: for a displaced call, and for stopped ones. */
  displacedUntilMs: number;
  stoppedUntilMs: number;
  /** Runners that it occupies. */
  running: number;
  waiting: number;
  /** The time that it has used, as the queue counts it. */
  usedMs: number;
}

/** The group that one runner has. */
export interface Run<J> {
  readonly group: readonly Waiting<J>[];
  readonly tenant: Tenant<J>;
  /** Infinity until there is a runner. */
  startedMs: number;
  isDisplaced: boolean;
}

/** A tenant that may get the next runner. A suspect had a call stopped or displaced lately. */
export interface Candidate<J> {
  readonly tenant: Tenant<J>;
  readonly lane: Lane<J>;
  readonly isSuspect: boolean;
}

/**
 * The pause after `timeouts` timeouts in a row: 1, 3, 7, then 15 times the time of the stopped
 * call.
 */
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
  // Running calls are not charged yet.
  return tag === otherTag ? tenant.running < other.tenant.running : tag < otherTag;
}

function tagOf<J>({ usedMs, isQuick }: Tenant<J>): number {
  return isQuick ? usedMs - LEAD_MS : usedMs;
}

export function isLong<J>({ startedMs }: Run<J>, nowMs: number): boolean {
  return startedMs + LONG_MS <= nowMs;
}

/** Whether `run`, and not `other`, is the one to make room; both are long. */
export function isWorse<J>(run: Run<J>, other: Run<J>, nowMs: number): boolean {
  const [isSuspect, isOtherSuspect] = [
    wasStopped(run.tenant, nowMs),
    wasStopped(other.tenant, nowMs),
  ];
  return isSuspect === isOtherSuspect ? run.startedMs < other.startedMs : isSuspect;
}

/** Whether the tenant is a suspect: a call did not end in time, or was displaced, lately. */
export function wasStopped<J>(
  { displacedUntilMs, stoppedUntilMs }: Tenant<J>,
  nowMs: number,
): boolean {
  return nowMs < displacedUntilMs || nowMs < stoppedUntilMs;
}

/** Whether a lane with timeouts is running again. */
export function isTrying<J>({ lanes }: Tenant<J>): boolean {
  for (const { running, timeouts } of lanes.values()) if (running > 0 && timeouts > 0) return true;
  return false;
}

/**
 * The lane whose first job has waited longest, among those that are not paused. With `isGood`,
 * lanes with timeouts are left out too.
 */
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
