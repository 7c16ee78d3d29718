/**
 * Decides which job runs next. Tenants share the runners by the time that they use (start-time
 * fair queuing), not by the number of their calls, so a tenant with long calls gets no more
 * than one with short calls. A lane whose calls do not end in time is paused, longer after each
 * timeout in a row. So a lane that loops for ever and is called all the time ends up using a
 * sixteenth of a runner. There is no timer and no clock here: the caller passes the time.
 *
 * However many tenants ask for calls that never end, the others do not wait for them. A suspect
 * is a tenant with a call that was stopped lately: it comes after all other tenants. It has one
 * runner at most, and one more for its other lanes while a stopped lane is tried again.
 * Suspects together never have the last runner. If long calls have all runners while another
 * tenant waits, one of them is displaced: it begins again behind the others. A tenant whose
 * last call was quick has a small lead over the others.
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

/** A job that has waited too long, with the pause of its lane if that was the reason. */
export interface Expired<J> extends Pause {
  readonly job: J;
}

/** How many calls of a lane were stopped in a row, and how long the lane is paused for that. */
export interface Pause {
  readonly timeoutsInARow: number;
  /** 0 if it is not paused now. */
  readonly leftMs: number;
}

export interface FairQueue<J> {
  /** Returns false if the tenant has too many jobs waiting. A job that goes on is always taken. */
  push(waiting: Waiting<J>, goesOn: boolean): boolean;
  /** The pause of a tenant's lane, or undefined if it has none. */
  pauseOf(tenant: string, lane: string, nowMs: number): Pause | undefined;
  /**
   * Takes the next work for one runner: one job, or several short ones of one lane without
   * timeouts. Returns nothing if nothing may run. The jobs count as running until `finish`.
   */
  take(nowMs: number): Waiting<J>[];
  /** Starts the clock of a group that `take` returned, now that its runner is there. */
  begin(group: readonly Waiting<J>[], nowMs: number): void;
  /**
   * Returns the group that must make room now, each group once. It counts as running until
   * `finish`, which must follow soon.
   */
  displace(nowMs: number): readonly Waiting<J>[] | undefined;
  /** Called once the whole group of one `take` has ended. */
  finish(group: readonly Finished<J>[], nowMs: number): void;
  /** Removes and returns the jobs that have waited too long. */
  expire(nowMs: number): Expired<J>[];
  /** Removes and returns all jobs that wait. */
  drain(): J[];
  /** When a pause ends, a job expires or a run may be displaced; undefined if nothing waits. */
  nextChangeMs(nowMs: number): number | undefined;
  waiting(): number;
}

export interface Finished<J> {
  readonly waiting: Waiting<J>;
  readonly usedMs: number;
  readonly ending: Ending;
  /** The lane at fault for a timeout, if it is not the job's own. */
  readonly blamed?: string;
}

/**
 * How a call ended: by itself, stopped because its time was up, displaced to make room for
 * others, or not tried after all.
 */
export type Ending = "in_time" | "timed_out" | "displaced" | "untried";

export interface QueueLimits {
  /** Number of runners. A single tenant never has the last of several. */
  readonly runners: number;
  readonly waitingPerTenantMax: number;
  readonly waitMsMax: number;
  /** Short calls that one runner gets at a time, at most. */
  readonly groupMax: number;
  /** Whether calls of a paused lane are turned away at once instead of waiting for its end. */
  readonly tellsPauses?: boolean;
}

/** From this many tenants on, idle ones are forgotten. */
const IDLE_TENANTS_MAX = 1_000;

function describe<J>(lane: Lane<J>, nowMs: number): Pause {
  const leftMs = Math.max(0, lane.pausedUntilMs - nowMs);
  return { timeoutsInARow: lane.timeouts, leftMs };
}

/**
 * Whether a lane's jobs are given up. After one timeout they are still tried: its input may
 * have been the reason.
 */
function isGivenUp<J>(lane: Lane<J>, nowMs: number, { tellsPauses }: QueueLimits): boolean {
  return tellsPauses === true && lane.timeouts > 1 && nowMs < lane.pausedUntilMs;
}

export function fairQueue<J>(limits: QueueLimits): FairQueue<J> {
  const tenants = new Map<string, Tenant<J>>();
  /** The tenants that have jobs waiting. */
  const active = new Set<Tenant<J>>();
  const runs = new Map<Waiting<J>, Run<J>>();
  /** Lanes whose last call did not end in time. */
  const stopped = new Set<Lane<J>>();
  // Where the tenant that ran last stood when it began. A returning tenant starts no earlier.
  let clockMs = 0;
  // No job expires before this time.
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
    // Leave an equal share of the waiting jobs to each other runner.
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
      // A suspect saves up no time either while it has to wait.
      if (isSuspect) tenant.usedMs = Math.max(tenant.usedMs, clockMs);
      if (isSuspect && !maySuspectsRun) continue;
      if (best !== undefined && !isBefore(tenant, isSuspect, best)) continue;
      const lane = runnableLane(tenant, isSuspect, nowMs);
      if (lane !== undefined) best = { tenant, lane, isSuspect };
    }
    return best;
  }

  /** All runners but one. A single tenant may have this many; beyond it, suspects get none. */
  function sharedRunners(): number {
    return Math.max(1, limits.runners - 1);
  }

  /**
   * Counts the runners with a long call, or with a call of a suspect, which may well become
   * long.
   */
  function longRuns(nowMs: number): number {
    let count = 0;
    for (const run of runs.values()) {
      if (isLong(run, nowMs) || wasStopped(run.tenant, nowMs)) count++;
    }
    return count;
  }

  /** A lane from which a job may run as soon as there is a runner. */
  function runnableLane(
    tenant: Tenant<J>,
    isSuspect: boolean,
    nowMs: number,
  ): Lane<J> | undefined {
    const runningMax = isSuspect ? 1 : sharedRunners();
    if (tenant.running < runningMax) return nextLane(tenant, nowMs);
    // While a stopped lane is tried again, another lane of the tenant may run beside it.
    if (!isSuspect || tenant.running > runningMax || !isTrying(tenant)) return undefined;
    return nextLane(tenant, nowMs, true);
  }

  function displace(nowMs: number): readonly Waiting<J>[] | undefined {
    if (runs.size < limits.runners) return undefined;
    let run: Run<J> | undefined;
    let displaced = 0;
    for (const each of runs.values()) {
      if (each.isDisplaced) displaced++;
      // A run that began lately may well end by itself.
      else if (!isLong(each, nowMs)) return undefined;
      else if (run === undefined || isWorse(each, run, nowMs)) run = each;
    }
    if (run === undefined || othersWaiting(run, nowMs) <= displaced) return undefined;
    run.isDisplaced = true;
    return run.group;
  }

  /** Counts the other tenants that wait for a runner, without suspects. */
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

  /** Forgets lanes that have neither jobs nor a recent timeout. */
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
      // From then on the run may be displaced.
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
