/**
 * Who is next. Tenants share the runners by the time that they use (start-time fair queuing), not
 * by the number of their calls, so a tenant whose calls run long gets no more than one with short
 * ones. What does not end in time is paused, longer each time in a row; so one that loops for ever,
 * called all the time, comes to use a sixteenth of a runner. No timer and no clock here.
 *
 * However many tenants ask for what never ends, the others do not wait for it. A tenant of whom
 * something was stopped of late comes after all others, has one runner at most (and one more for
 * its other lanes while a lane that was stopped is tried again), and all of these together never
 * have the last one. Where calls that run long have all the runners while somebody
 * else waits, one of them is displaced: it begins again behind the others. And one whose calls
 * are quick has a small lead over those of whom nothing is known yet.
 */

import {
  type Candidate,
  FORGET_MS,
  isBefore,
  isLong,
  isTrying,
  isWorse,
  type Lane,
  LONG_MS,
  nextLane,
  pauseAfter,
  type Run,
  type Tenant,
  type Waiting,
  wasStopped,
} from "./tenant_share.ts";

export type { Waiting };

/** A call that has waited too long, and whether that was because its lane is paused. */
export interface Expired<J> extends Pause {
  readonly job: J;
}

/** Of a lane: how many of its calls were stopped in a row, and how long it is paused for that. */
export interface Pause {
  readonly timeoutsInARow: number;
  /** 0: it is not paused now. */
  readonly leftMs: number;
}

export interface FairQueue<J> {
  /** False when the tenant has too many waiting already; a job that goes on is always taken. */
  push(waiting: Waiting<J>, goesOn: boolean): boolean;
  /** The pause of a tenant's lane; undefined where it has none. */
  pauseOf(tenant: string, lane: string, nowMs: number): Pause | undefined;
  /**
   * What one runner is to run now: a call, or several short ones of one tenant whose lanes have
   * always ended in time. Empty where nothing may run. They count as running until `finish`.
   */
  take(nowMs: number): Waiting<J>[];
  /** The runner is there, and the time of what one `take` gave begins. */
  begin(group: readonly Waiting<J>[], nowMs: number): void;
  /** The group that is to make room now, once. It runs until `finish`, to be called soon. */
  displace(nowMs: number): readonly Waiting<J>[] | undefined;
  /** After all that one `take` gave. */
  finish(group: readonly Finished<J>[], nowMs: number): void;
  /** Takes out what has waited too long. */
  expire(nowMs: number): Expired<J>[];
  /** Takes out everything. */
  drain(): J[];
  /** When a pause ends, a call expires or may be displaced; undefined when nothing waits. */
  nextChangeMs(nowMs: number): number | undefined;
  waiting(): number;
}

export interface Finished<J> {
  readonly waiting: Waiting<J>;
  readonly usedMs: number;
  readonly ending: Ending;
  /** Whose fault it was that it did not end in time, where not its own lane's. */
  readonly blamed?: string;
}

/**
 * Whether a call ended by itself, was stopped for its time, made room for others, or was not tried
 * after all.
 */
export type Ending = "in_time" | "timed_out" | "displaced" | "untried";

export interface QueueLimits {
  /** Runners there are. One tenant never has the last one. */
  readonly runners: number;
  readonly waitingPerTenantMax: number;
  readonly waitMsMax: number;
  /** Short calls that one runner is given at a time. */
  readonly groupMax: number;
  /** Whether calls of a paused lane are told so, and do not wait for the end of the pause. */
  readonly tellsPauses?: boolean;
}

/** More tenants than this are not remembered when they are idle. */
const IDLE_TENANTS_MAX = 1_000;

function describe<J>(lane: Lane<J>, nowMs: number): Pause {
  const leftMs = Math.max(0, lane.pausedUntilMs - nowMs);
  return { timeoutsInARow: lane.timeouts, leftMs };
}

/** After one timeout, what waits is tried: the input may have been the reason. */
function isGivenUp<J>(lane: Lane<J>, nowMs: number, { tellsPauses }: QueueLimits): boolean {
  return tellsPauses === true && lane.timeouts > 1 && nowMs < lane.pausedUntilMs;
}

export function fairQueue<J>(limits: QueueLimits): FairQueue<J> {
  const tenants = new Map<string, Tenant<J>>();
  /** Those of them for whom something waits. */
  const active = new Set<Tenant<J>>();
  const runs = new Map<Waiting<J>, Run<J>>();
  /** Lanes of which the last call did not end in time. */
  const stopped = new Set<Lane<J>>();
  // Where the tenant that ran last stood when it began: nobody who comes back begins before it.
  let clockMs = 0;
  // No call expires before.
  let expiryMs = Infinity;

  function tenantOf(name: string): Tenant<J> {
    const found = tenants.get(name);
    if (found !== undefined) return found;
    if (tenants.size >= IDLE_TENANTS_MAX) forgetIdle();
    const tenant = {
      lanes: new Map(),
      isQuick: false,
      displacedUntilMs: 0,
      stoppedUntilMs: 0,
      running: 0,
      waiting: 0,
      usedMs: clockMs,
    };
    tenants.set(name, tenant);
    return tenant;
  }

  function forgetIdle(): void {
    for (const [name, tenant] of tenants) {
      if (tenant.running + tenant.waiting > 0) continue;
      tenants.delete(name);
      for (const lane of tenant.lanes.values()) stopped.delete(lane);
    }
  }

  function push(waiting: Waiting<J>, goesOn: boolean): boolean {
    const tenant = tenantOf(waiting.tenant);
    if (!goesOn && tenant.waiting >= limits.waitingPerTenantMax) return false;
    if (tenant.running + tenant.waiting === 0) tenant.usedMs = Math.max(tenant.usedMs, clockMs);
    laneOf(tenant, waiting.lane).jobs.push(waiting);
    expiryMs = Math.min(expiryMs, waiting.sinceMs + limits.waitMsMax);
    tenant.waiting++;
    active.add(tenant);
    return true;
  }

  function laneOf(tenant: Tenant<J>, name: string): Lane<J> {
    const found = tenant.lanes.get(name);
    if (found !== undefined) return found;
    const lane: Lane<J> = { jobs: [], running: 0, timeouts: 0, pausedUntilMs: 0 };
    tenant.lanes.set(name, lane);
    return lane;
  }

  function pauseOf(tenant: string, name: string, nowMs: number): Pause | undefined {
    const lane = tenants.get(tenant)?.lanes.get(name);
    return lane === undefined || nowMs >= lane.pausedUntilMs ? undefined : describe(lane, nowMs);
  }

  function take(nowMs: number): Waiting<J>[] {
    const best = nextTenant(nowMs);
    if (best === undefined) return [];
    const { tenant, lane, isSuspect } = best;
    if (!isSuspect) clockMs = Math.max(clockMs, tenant.usedMs);
    tenant.running++;
    // So many that each runner would get as many.
    const groupMax = Math.min(limits.groupMax, Math.ceil(tenant.waiting / limits.runners));
    const group = [takeFrom(tenant, lane)];
    const isGroup = lane.timeouts === 0 && group[0]!.isShort;
    while (isGroup && group.length < groupMax && lane.jobs[0]?.isShort) {
      group.push(takeFrom(tenant, lane));
    }
    runs.set(group[0]!, { group, tenant, startedMs: Infinity, isDisplaced: false });
    return group;
  }

  function begin(group: readonly Waiting<J>[], nowMs: number): void {
    runs.get(group[0]!)!.startedMs = nowMs;
  }

  function nextTenant(nowMs: number): Candidate<J> | undefined {
    let best: Candidate<J> | undefined;
    const maySuspectsRun = longRuns(nowMs) < sharedRunners();
    for (const tenant of active) {
      const isSuspect = wasStopped(tenant, nowMs);
      // Nothing is saved up either for one that has to wait for what it did.
      if (isSuspect) tenant.usedMs = Math.max(tenant.usedMs, clockMs);
      if (isSuspect && !maySuspectsRun) continue;
      if (best !== undefined && !isBefore(tenant, isSuspect, best)) continue;
      const lane = runnableLane(tenant, isSuspect, nowMs);
      if (lane !== undefined) best = { tenant, lane, isSuspect };
    }
    return best;
  }

  /** Runners that what takes long may have together. */
  function sharedRunners(): number {
    return Math.max(1, limits.runners - 1);
  }

  /** How many runners have what takes long, or may well do so. */
  function longRuns(nowMs: number): number {
    let count = 0;
    for (const run of runs.values()) {
      if (isLong(run, nowMs) || wasStopped(run.tenant, nowMs)) count++;
    }
    return count;
  }

  /** A lane of which a call may run, once there is a runner for it. */
  function runnableLane(
    tenant: Tenant<J>,
    isSuspect: boolean,
    nowMs: number,
  ): Lane<J> | undefined {
    const runningMax = isSuspect ? 1 : sharedRunners();
    if (tenant.running < runningMax) return nextLane(tenant, nowMs);
    // While a lane that was stopped is tried again, another one of the tenant goes on beside it.
    if (!isSuspect || tenant.running > runningMax || !isTrying(tenant)) return undefined;
    return nextLane(tenant, nowMs, true);
  }

  function displace(nowMs: number): readonly Waiting<J>[] | undefined {
    if (runs.size < limits.runners) return undefined;
    let run: Run<J> | undefined;
    let displaced = 0;
    for (const each of runs.values()) {
      if (each.isDisplaced) displaced++;
      // One that has begun lately may well end by itself.
      else if (!isLong(each, nowMs)) return undefined;
      else if (run === undefined || isWorse(each, run, nowMs)) run = each;
    }
    if (run === undefined || othersWaiting(run, nowMs) <= displaced) return undefined;
    run.isDisplaced = true;
    return run.group;
  }

  /** Other tenants that wait for a runner, of whom nothing was stopped of late. */
  function othersWaiting({ tenant: its }: Run<J>, nowMs: number): number {
    let count = 0;
    for (const tenant of active) {
      if (tenant === its || wasStopped(tenant, nowMs)) continue;
      if (runnableLane(tenant, false, nowMs) !== undefined) count++;
    }
    return count;
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
    runs.delete(group[0]!.waiting);
    for (const { waiting, usedMs, ending, blamed } of group) {
      const lane = tenant.lanes.get(waiting.lane)!;
      tenant.usedMs += usedMs;
      lane.running--;
      if (ending !== "untried") tenant.isQuick = ending === "in_time" && usedMs <= LONG_MS;
      if (ending === "displaced") tenant.displacedUntilMs = nowMs + FORGET_MS;
      if (ending === "in_time") resume(lane);
      if (ending !== "timed_out") continue;
      pause(laneOf(tenant, blamed ?? waiting.lane), usedMs, nowMs);
    }
    tidyLanes(tenant, nowMs);
  }

  function pause(lane: Lane<J>, usedMs: number, nowMs: number): void {
    stopped.add(lane);
    lane.timeouts++;
    lane.pausedUntilMs = nowMs + pauseAfter(lane.timeouts, usedMs);
    if (isGivenUp(lane, nowMs, limits)) expiryMs = Math.min(expiryMs, nowMs);
  }

  function resume(lane: Lane<J>): void {
    lane.timeouts = lane.pausedUntilMs = 0;
    stopped.delete(lane);
  }

  /** Forgets lanes of which there is nothing to remember. */
  function tidyLanes(tenant: Tenant<J>, nowMs: number): void {
    tenant.stoppedUntilMs = 0;
    for (const [name, lane] of tenant.lanes) {
      const untilMs = lane.timeouts === 0 ? 0 : lane.pausedUntilMs + FORGET_MS;
      tenant.stoppedUntilMs = Math.max(tenant.stoppedUntilMs, untilMs);
      if (lane.running + lane.jobs.length > 0 || untilMs > nowMs) continue;
      tenant.lanes.delete(name);
      stopped.delete(lane);
    }
  }

  function* activeLanes(): Generator<{ tenant: Tenant<J>; lane: Lane<J> }> {
    for (const tenant of [...active]) {
      for (const lane of tenant.lanes.values()) yield { tenant, lane };
    }
  }

  function expire(nowMs: number): Expired<J>[] {
    const expired: Expired<J>[] = [];
    if (nowMs < expiryMs) return expired;
    expiryMs = Infinity;
    for (const { tenant, lane } of activeLanes()) {
      const mayWaitMs = isGivenUp(lane, nowMs, limits) ? -Infinity : limits.waitMsMax;
      while (lane.jobs.length > 0 && lane.jobs[0]!.sinceMs + mayWaitMs <= nowMs) {
        leaveQueue(tenant, 1);
        expired.push({ job: lane.jobs.shift()!.job, ...describe(lane, nowMs) });
      }
      const [first] = lane.jobs;
      if (first !== undefined) expiryMs = Math.min(expiryMs, first.sinceMs + limits.waitMsMax);
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
    if (active.size === 0) return undefined;
    let next = expiryMs;
    for (const { jobs, pausedUntilMs } of stopped) {
      if (jobs.length > 0 && pausedUntilMs > nowMs) next = Math.min(next, pausedUntilMs);
    }
    if (runs.size < limits.runners) return next;
    for (const { startedMs } of runs.values()) {
      // From then on it may be displaced.
      if (startedMs + LONG_MS > nowMs) next = Math.min(next, startedMs + LONG_MS);
    }
    return next;
  }

  function waiting(): number {
    let sum = 0;
    for (const tenant of active) sum += tenant.waiting;
    return sum;
  }

  return { push, pauseOf, take, begin, displace, finish, expire, drain, nextChangeMs, waiting };
}
