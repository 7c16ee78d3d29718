/**
 * Who is next. Tenants share the runners by the time that they use (start-time fair queuing), not
 * by the number of their calls, so a tenant whose modules run long gets no more than one with short
 * ones. A module that does not end in time is paused, longer each time in a row; so one that loops
 * for ever, called all the time, comes to use a sixteenth of one runner. No timer and no clock here.
 */

/** One call, or one more turn of a long fold. */
export interface Waiting<J> {
  readonly job: J;
  readonly tenant: string;
  /** What is paused as one: the digest of a module. */
  readonly lane: string;
  readonly sinceMs: number;
}

/** A call that has waited too long, and whether that was because its module is paused. */
export interface Expired<J> {
  readonly job: J;
  readonly timeoutsInARow: number;
}

export interface FairQueue<J> {
  /** False when the tenant has too many waiting already; a job that goes on is always taken. */
  push(waiting: Waiting<J>, goesOn: boolean): boolean;
  /** The next to run now, which counts as running until `finish`. */
  take(nowMs: number): Waiting<J> | undefined;
  /** How long it ran, and whether it was stopped for its time. */
  finish(waiting: Waiting<J>, usedMs: number, timedOut: boolean, nowMs: number): void;
  /** Takes out what has waited too long. */
  expire(nowMs: number): Expired<J>[];
  /** Takes out everything. */
  drain(): J[];
  /** When something that now has to wait may run or expires; undefined when nothing waits. */
  nextChangeMs(): number | undefined;
  waiting(): number;
}

export interface QueueLimits {
  /** Runners there are. One tenant never has the last one. */
  readonly runners: number;
  readonly waitingPerTenantMax: number;
  readonly waitMsMax: number;
}

/** A pause is the time of the call that was stopped, times this at most. */
const PAUSE_FACTOR_MAX = 15;
const PAUSE_MS_MAX = 10_000;
/** A module's timeouts are forgotten so long after its pause. */
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
  running: number;
  waiting: number;
  /** The time it has used, on the clock of the queue. */
  usedMs: number;
}

/** How long a module is paused after so many timeouts in a row: 1, 3, 7, then 15 times its time. */
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

  function take(nowMs: number): Waiting<J> | undefined {
    let best: { tenant: Tenant<J>; lane: Lane<J> } | undefined;
    for (const tenant of active) {
      if (best !== undefined && tenant.usedMs >= best.tenant.usedMs) continue;
      if (tenant.running >= runningMax(tenant, limits.runners, nowMs)) continue;
      const lane = nextLane(tenant, nowMs);
      if (lane !== undefined) best = { tenant, lane };
    }
    if (best === undefined) return undefined;
    const { tenant, lane } = best;
    clockMs = Math.max(clockMs, tenant.usedMs);
    leaveQueue(tenant, 1);
    tenant.running++;
    lane.running++;
    return lane.jobs.shift();
  }

  function leaveQueue(tenant: Tenant<J>, jobs: number): void {
    tenant.waiting -= jobs;
    if (tenant.waiting === 0) active.delete(tenant);
  }

  function finish(done: Waiting<J>, usedMs: number, timedOut: boolean, nowMs: number): void {
    const tenant = tenants.get(done.tenant)!;
    const lane = tenant.lanes.get(done.lane)!;
    tenant.running--;
    tenant.usedMs += usedMs;
    lane.running--;
    lane.timeouts = timedOut ? lane.timeouts + 1 : 0;
    if (timedOut) lane.pausedUntilMs = nowMs + pauseAfter(lane.timeouts, usedMs);
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

  function nextChangeMs(): number | undefined {
    let next: number | undefined;
    for (const { lane } of activeLanes()) {
      const first = lane.jobs[0];
      if (first === undefined) continue;
      const expiresMs = first.sinceMs + limits.waitMsMax;
      const changeMs = lane.timeouts > 0 && lane.running === 0
        ? Math.min(expiresMs, lane.pausedUntilMs)
        : expiresMs;
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

/** All runners but one; one only, where a module of the tenant did not end in time of late. */
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
