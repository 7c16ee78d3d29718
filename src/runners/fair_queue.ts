/**
 * Who is next. Tenants share the runners by the time that they use (start-time fair queuing), not
 * by the number of their calls, so a tenant whose calls run long gets no more than one with short
 * ones. What does not end in time is paused, longer each time in a row; so one that loops for ever,
 * called all the time, comes to use a sixteenth of a runner. No timer and no clock here.
 */

/** One call, or one more turn of a long fold. */
export interface Waiting<J> {
  readonly job: J;
  readonly tenant: string;
  /** What is paused as one: the digest of a module, a statement. */
  readonly lane: string;
  /** May be run with others. */
  readonly isShort: boolean;
  readonly sinceMs: number;
}

/** A call that has waited too long, and whether that was because its lane is paused. */
export interface Expired<J> {
  readonly job: J;
  readonly timeoutsInARow: number;
}

export interface FairQueue<J> {
  /** False when the tenant has too many waiting already; a job that goes on is always taken. */
  push(waiting: Waiting<J>, goesOn: boolean): boolean;
  /**
   * What one runner is to run now: a call, or several short ones of one tenant whose lanes have
   * always ended in time. Empty where nothing may run. They count as running until `finish`.
   */
  take(nowMs: number): Waiting<J>[];
  /** After all that one `take` gave. */
  finish(group: readonly Finished<J>[], nowMs: number): void;
  /** Takes out what has waited too long. */
  expire(nowMs: number): Expired<J>[];
  /** Takes out everything. */
  drain(): J[];
  /** When a pause ends or a call expires, after `nowMs`; undefined when nothing waits. */
  nextChangeMs(nowMs: number): number | undefined;
  waiting(): number;
}

export interface Finished<J> {
  readonly waiting: Waiting<J>;
  readonly usedMs: number;
  readonly ending: Ending;
}

/** Whether a call ended by itself, was stopped for its time, or was not tried after all. */
export type Ending = "in_time" | "timed_out" | "untried";

export interface QueueLimits {
  /** Runners there are. One tenant never has the last one. */
  readonly runners: number;
  readonly waitingPerTenantMax: number;
  readonly waitMsMax: number;
  /** Short calls that one runner is given at a time. */
  readonly groupMax: number;
}

/** A pause is the time of the call that was stopped, times this at most. */
const PAUSE_FACTOR_MAX = 15;
const PAUSE_MS_MAX = 10_000;
/** A lane's timeouts are forgotten so long after its pause. */
const FORGET_MS = 30_000;
/** More tenants than this are not remembered when they are idle. */
const IDLE_TENANTS_MAX = 1_000;

interface Lane<J> {
  readonly jobs: Waiting<J>[];
  running: number;
  /** Calls in a row that were stopped for their time. */
  timeouts: number;
  pausedUntilMs: number;
}

interface Tenant<J> {
  readonly lanes: Map<string, Lane<J>>;
  /** Runners that it has. */
  running: number;
  waiting: number;
  /** The time it has used, on the clock of the queue. */
  usedMs: number;
}

/** How long a lane is paused after so many timeouts in a row: 1, 3, 7, then 15 times its time. */
export function pauseAfter(timeouts: number, usedMs: number): number {
  const factor = Math.min(2 ** timeouts - 1, PAUSE_FACTOR_MAX);
  return Math.min(factor * usedMs, PAUSE_MS_MAX);
}

export function fairQueue<J>(limits: QueueLimits): FairQueue<J> {
  const tenants = new Map<string, Tenant<J>>();
  /** Those of them for whom something waits. */
  const active = new Set<Tenant<J>>();
  // Where the tenant that ran last stood when it began: nobody who comes back begins before it.
  let clockMs = 0;

  function tenantOf(name: string): Tenant<J> {
    const found = tenants.get(name);
    if (found !== undefined) return found;
    if (tenants.size >= IDLE_TENANTS_MAX) forgetIdle();
    const tenant = { lanes: new Map(), running: 0, waiting: 0, usedMs: clockMs };
    tenants.set(name, tenant);
    return tenant;
  }

  function forgetIdle(): void {
    for (const [name, tenant] of tenants) {
      if (tenant.running + tenant.waiting === 0) tenants.delete(name);
    }
  }

  function push(waiting: Waiting<J>, goesOn: boolean): boolean {
    const tenant = tenantOf(waiting.tenant);
    if (!goesOn && tenant.waiting >= limits.waitingPerTenantMax) return false;
    if (tenant.running + tenant.waiting === 0) tenant.usedMs = Math.max(tenant.usedMs, clockMs);
    let lane = tenant.lanes.get(waiting.lane);
    if (lane === undefined) {
      lane = { jobs: [], running: 0, timeouts: 0, pausedUntilMs: 0 };
      tenant.lanes.set(waiting.lane, lane);
    }
    lane.jobs.push(waiting);
    tenant.waiting++;
    active.add(tenant);
    return true;
  }

  function take(nowMs: number): Waiting<J>[] {
    const best = nextTenant(nowMs);
    if (best === undefined) return [];
    const { tenant, lane } = best;
    clockMs = Math.max(clockMs, tenant.usedMs);
    tenant.running++;
    // So many that each runner would get as many.
    const groupMax = Math.min(limits.groupMax, Math.ceil(tenant.waiting / limits.runners));
    const group = [takeFrom(tenant, lane)];
    const isGroup = lane.timeouts === 0 && group[0]!.isShort;
    while (isGroup && group.length < groupMax && lane.jobs[0]?.isShort) {
      group.push(takeFrom(tenant, lane));
    }
    return group;
  }

  function nextTenant(nowMs: number): { tenant: Tenant<J>; lane: Lane<J> } | undefined {
    let best: { tenant: Tenant<J>; lane: Lane<J> } | undefined;
    for (const tenant of active) {
      if (best !== undefined && !isBefore(tenant, best.tenant)) continue;
      if (tenant.running >= runningMax(tenant, limits.runners, nowMs)) continue;
      const lane = nextLane(tenant, nowMs);
      if (lane !== undefined) best = { tenant, lane };
    }
    return best;
  }

  function takeFrom(tenant: Tenant<J>, lane: Lane<J>): Waiting<J> {
    leaveQueue(tenant, 1);
    lane.running++;
    return lane.jobs.shift()!;
  }

  function leaveQueue(tenant: Tenant<J>, jobs: number): void {
    tenant.waiting -= jobs;
    if (tenant.waiting === 0) active.delete(tenant);
  }

  function finish(group: readonly Finished<J>[], nowMs: number): void {
    const tenant = tenants.get(group[0]!.waiting.tenant)!;
    tenant.running--;
    for (const { waiting, usedMs, ending } of group) {
      const lane = tenant.lanes.get(waiting.lane)!;
      tenant.usedMs += usedMs;
      lane.running--;
      if (ending === "in_time") lane.timeouts = lane.pausedUntilMs = 0;
      if (ending !== "timed_out") continue;
      lane.timeouts++;
      lane.pausedUntilMs = nowMs + pauseAfter(lane.timeouts, usedMs);
    }
    for (const [name, { running, jobs, timeouts, pausedUntilMs }] of tenant.lanes) {
      const isOver = timeouts === 0 || pausedUntilMs + FORGET_MS < nowMs;
      if (running + jobs.length === 0 && isOver) tenant.lanes.delete(name);
    }
  }

  function* activeLanes(): Generator<{ tenant: Tenant<J>; lane: Lane<J> }> {
    for (const tenant of [...active]) {
      for (const lane of tenant.lanes.values()) yield { tenant, lane };
    }
  }

  function expire(nowMs: number): Expired<J>[] {
    const expired: Expired<J>[] = [];
    for (const { tenant, lane } of activeLanes()) {
      while (lane.jobs.length > 0 && lane.jobs[0]!.sinceMs + limits.waitMsMax <= nowMs) {
        leaveQueue(tenant, 1);
        expired.push({ job: lane.jobs.shift()!.job, timeoutsInARow: lane.timeouts });
      }
    }
    return expired;
  }

  function drain(): J[] {
    const jobs: J[] = [];
    for (const { tenant, lane } of activeLanes()) {
      const taken = lane.jobs.splice(0);
      leaveQueue(tenant, taken.length);
      jobs.push(...taken.map(({ job }) => job));
    }
    return jobs;
  }

  function nextChangeMs(nowMs: number): number | undefined {
    let next: number | undefined;
    for (const { lane } of activeLanes()) {
      const first = lane.jobs[0];
      if (first === undefined) continue;
      const expiresMs = first.sinceMs + limits.waitMsMax;
      const isPaused = lane.pausedUntilMs > nowMs;
      const changeMs = isPaused ? Math.min(expiresMs, lane.pausedUntilMs) : expiresMs;
      next = Math.min(next ?? changeMs, changeMs);
    }
    return next;
  }

  function waiting(): number {
    let sum = 0;
    for (const tenant of active) sum += tenant.waiting;
    return sum;
  }

  return { push, take, finish, expire, drain, nextChangeMs, waiting };
}

function isBefore<J>(tenant: Tenant<J>, other: Tenant<J>): boolean {
  // What runs is not charged yet.
  if (tenant.usedMs === other.usedMs) return tenant.running < other.running;
  return tenant.usedMs < other.usedMs;
}

/** All runners but one; one only, where something of the tenant did not end in time of late. */
function runningMax<J>(tenant: Tenant<J>, runners: number, nowMs: number): number {
  for (const { timeouts, pausedUntilMs } of tenant.lanes.values()) {
    if (timeouts > 0 && nowMs < pausedUntilMs + FORGET_MS) return 1;
  }
  return Math.max(1, runners - 1);
}

/** The lane whose first job has waited longest, of those that are not paused. */
function nextLane<J>(tenant: Tenant<J>, nowMs: number): Lane<J> | undefined {
  let oldest: Lane<J> | undefined;
  for (const lane of tenant.lanes.values()) {
    const first = lane.jobs[0];
    if (first === undefined || nowMs < lane.pausedUntilMs) continue;
    if (oldest === undefined || first.sinceMs < oldest.jobs[0]!.sinceMs) oldest = lane;
  }
  return oldest;
}
