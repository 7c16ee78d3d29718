/**
 * Processes the timers that are due: scheduled events, sagas, deliveries and erasures. A
 * scheduled event fires at or after `fire_at`, exactly once: the transaction that appends it
 * reads its record and removes it together with its timer. So it cannot be both cancelled and
 * fired. See docs/reference/reactions.md.
 */

import { openPieces } from "../../domain/fairness/pieces.ts";
import { takeOthers, TIMER_WINDOW } from "../../domain/fairness/fair_share.ts";
import { countErrors } from "../../domain/measures/counters.ts";
import { eventId } from "../../domain/event.ts";
import { limits } from "../../domain/limits.ts";
import type { CancelRule } from "../../domain/reaction/action.ts";
import { retryPauseMs } from "../../domain/reaction/outbox_entry.ts";
import { hourOf, momentOfNextHour, type Root, rootOf } from "../../domain/reaction/root.ts";
import type { Host } from "../../host.ts";
import type { Bytes, Engine, ReadTransaction, Transaction } from "../../kv/engine.ts";
import type { PausedReactions } from "../reactions/follow_pauses.ts";
import type { SpecCache } from "../base/current_spec.ts";
import { storeErrorRecord } from "../../store/error_records.ts";
import {
  cancelledBy,
  cancelledFor,
  decodeSchedule,
  findCancelling,
  isCancelled,
  parkSchedule,
  readSchedule,
  readStoredSchedule,
  removeSchedule,
  replaceSchedule,
  ruleName,
  type ScheduleRecord,
} from "../../store/reactions/schedules.ts";
import { countRecurring, readRecurring } from "../../store/reactions/roots.ts";
import { isCurrentSpec } from "../../store/specs.ts";
import { clearTimer, listDueTimers, readFirstTimer, type Timer } from "../../store/timers.ts";
import type { SagaAdvancer } from "../sagas/advance_sagas.ts";
import { fireDeliveryTimers, type OwnLanes } from "../writes/append_deliveries.ts";
import { scheduleSubject } from "../writes/append_reactions.ts";
import { isOutage } from "../../domain/outage.ts";
import type { Combiner } from "../writes/combine.ts";
import type { Emitter } from "../writes/write_emission.ts";
import type { Cause } from "../writes/prepared_write.ts";
import { scheduleError } from "../reactions/scheduled_events.ts";
import type { OutboxRunner } from "../reactions/run_outbox.ts";
import { openFiringTimers, type ShortWait, startWait } from "../reactions/held_works.ts";
import { putTimersAside, returnTimers } from "../reactions/manage_reactions.ts";
import { fireErasureTimers } from "../erasure/erase_due.ts";
import type { WorkShare } from "../base/share_work.ts";
import { openSagaTimers } from "../reactions/reaction_lines.ts";

export interface TimerRunner {
  /**
   * Processes up to about `limit` due timers of this process's share, the oldest first. If
   * there are more, it also takes up to as many again of other tenants. Returns how many it
   * tried, after 250 ms at the latest: the rest goes on, and later calls leave it out.
   */
  drain(limit: number, isStopping?: () => boolean): Promise<number>;
  /**
   * For how many milliseconds nothing known can be due, capped so that timers set by other
   * processes are not missed.
   */
  pauseMs(): number;
  /** Resolves when none is being fired. */
  settle(): Promise<void>;
}

export interface TimerParts {
  readonly engine: Engine;
  readonly host: Host;
  readonly specs: SpecCache;
  readonly combiner: Combiner;
  readonly share: WorkShare;
  readonly outbox: OutboxRunner;
  readonly sagas: SagaAdvancer;
  readonly lanes: OwnLanes;
  readonly emitter: Emitter;
  readonly paused: PausedReactions;
}

const SCHEDULER = { type: "system_agent", id: "event_scheduler" } as const;
/** Every timer is set at least a second ahead, so polling twice a second misses none. */
const PAUSE_MS_MAX = 500;
const PAUSE_MS_MIN = 5;
/** While due timers wait for others of their tenant that are being fired. */
const PAUSE_MS_FULL = 50;
/** Records read at a time: few while they are so large together, otherwise many. */
const READ_TOGETHER_MIN = 8;
const READ_TOGETHER_MAX = 64;
const READ_BYTES = 64 * 1024;

export function createTimerRunner(parts: TimerParts): TimerRunner {
  const { engine, host, specs, combiner, share, outbox, emitter, paused } = parts;
  const fireSagas = openSagaTimers(host, parts.sagas, outbox.sagas);
  let nextMs: number | undefined;
  const firing = openFiringTimers();
  let isFull = false;
  /** By shard with more timers than a round takes: up to where those of others were searched. */
  const looked = new Map<number, Timer>();

  async function drain(limit: number, isStopping = () => false): Promise<number> {
    const leases = await share.held("timer");
    await paused.ready();
    const returned = leases.length === 0 ? 0 : await returnTimers(engine, paused);
    const nowMs = host.nowMs();
    const limitEach = Math.ceil(limit / Math.max(1, leases.length));
    const found = await engine.snapshot((tx) =>
      Promise.all(leases.map(({ shard }) => listShard(tx, shard, nowMs, limitEach)))
    );
    const others: Timer[] = [];
    for (const { shard, due, isCut } of found) {
      if (isCut) others.push(...await findOthers(shard, nowMs, due));
      else looked.delete(shard);
    }
    const firsts = found.flatMap(({ first }) => first === undefined ? [] : [first.dueMs]);
    nextMs = firsts.length === 0 ? undefined : firsts.reduce((a, b) => Math.min(a, b));
    const all = [...found.flatMap(({ free }) => free), ...others];
    const aside = await putTimersAside(engine, paused, all);
    const due = all.filter((timer) => !aside.has(timer));
    isFull = due.length === 0 && found.some(({ due }) => due.length > 0);
    if (due.length === 0 || isStopping()) return returned + aside.size;
    return returned + aside.size + await fireDue(due);
  }

  /** The first due timers of a shard, and those of them that may be fired now. */
  async function listShard(tx: ReadTransaction, shard: number, nowMs: number, limitEach: number) {
    const limit = limitEach + firing.count(shard);
    const due = await listDueTimers(tx, shard, { nowMs, limit });
    const free = due.filter(isFree);
    const first = free[0] ?? await readFirstTimer(tx, shard, due.at(-1));
    return { shard, due, free, first, isCut: due.length === limit };
  }

  function isFree(timer: Timer): boolean {
    // Deliveries and erasures are only marked as due.
    if (timer.kind === "delivery" || timer.kind === "erasure") return true;
    return !firing.has(timer) && !firing.isFull(timer.tenant);
  }

  async function fireDue(due: readonly Timer[]): Promise<number> {
    const wait = startWait(host);
    try {
      const told = tellSagas(due.filter(({ kind }) => kind === "saga"), wait);
      const fired = fireAll(due.filter(({ kind }) => kind === "scheduled"), wait);
      const deliveries = due.filter(({ kind }) => kind === "delivery");
      const marked = fireDeliveryTimers(engine, parts.lanes, deliveries);
      const erasures = fireErasureTimers(engine, due.filter(({ kind }) => kind === "erasure"));
      const results = await Promise.allSettled([told, marked, erasures, fired]);
      for (const result of results) if (result.status === "rejected") throw result.reason;
      return await told + await marked + await erasures + await fired;
    } finally {
      wait.cancel();
    }
  }

  /** Returns how many are done or postponed, or go on. Throws only outages. */
  async function tellSagas(timers: readonly Timer[], wait: ShortWait): Promise<number> {
    const group = firing.openGroup(wait);
    let told = 0;
    for (const timer of timers) {
      if (!isFree(timer)) continue;
      told++;
      group.begin(timer, 0, fireSagas([timer]).then((done) => void (told += done - 1)));
    }
    await group.end();
    return told;
  }

  /**
   * Finds as many more timers of tenants that are not in `first`. Its window cycles through the
   * shard.
   */
  async function findOthers(
    shard: number,
    nowMs: number,
    first: readonly Timer[],
  ): Promise<readonly Timer[]> {
    const window = await engine.snapshot((tx) =>
      listDueTimers(tx, shard, { nowMs, limit: TIMER_WINDOW, after: looked.get(shard) })
    );
    const others = takeOthers(first, window.filter(isFree), first.length);
    const last = others.taken.length < first.length ? window.at(-1) : others.last;
    const isRound = window.length < TIMER_WINDOW && last === window.at(-1);
    if (isRound || last === undefined) looked.delete(shard);
    else looked.set(shard, last);
    // A round scans up to 16 such windows, each a millisecond or two long.
    await host.yieldTurn();
    return others.taken;
  }

  function pauseMs(): number {
    if (nextMs === undefined) return PAUSE_MS_MAX;
    return Math.max(
      isFull ? PAUSE_MS_FULL : PAUSE_MS_MIN,
      Math.min(nextMs - host.nowMs(), PAUSE_MS_MAX),
    );
  }

  /**
   * Reads a few records at a time and fires them, in time slices. Those of a tenant that fires as
   * many as it may wait for room, until the wait is over. Returns how many it has begun. Throws
   * only outages.
   */
  async function fireAll(timers: readonly Timer[], wait: ShortWait): Promise<number> {
    const pieces = openPieces(host);
    const group = firing.openGroup(wait);
    let begun = 0;
    let count = READ_TOGETHER_MIN;
    for (let left = [...timers]; left.length > 0 && group.mayGoOn();) {
      const some = left.filter(({ tenant }) => !firing.isFull(tenant)).slice(0, count);
      if (some.length === 0) {
        await Promise.race([firing.nextEnd(), wait.over]);
        continue;
      }
      const found = await Promise.all(some.map(readStored)).catch((error) => error);
      if (!Array.isArray(found)) {
        await group.end();
        throw found;
      }
      const over = new Set<Timer>();
      let read = 0;
      for (const [index, timer] of some.entries()) {
        const bytes = found[index]?.length ?? 0;
        read += bytes;
        if (firing.has(timer)) over.add(timer);
        if (!isFree(timer) || !group.mayGoOn()) continue;
        over.add(timer);
        begun++;
        group.begin(timer, bytes, fire(timer, found[index]));
        await pieces.rest();
      }
      left = left.filter((timer) => !over.has(timer));
      // What comes next is probably of the same size.
      count = read > READ_BYTES ? READ_TOGETHER_MIN : READ_TOGETHER_MAX;
    }
    await group.end();
    return begun;
  }

  function readStored({ tenant, id }: Timer): Promise<Bytes | undefined> {
    return engine.snapshot((tx) => readStoredSchedule(tx, tenant, id));
  }

  /** What has cancelled a record, and whether it has to wait for the next hour. */
  function judge(tenant: number, record: ScheduleRecord) {
    const { cancelOn, root } = record;
    if (cancelOn.length === 0 && !root?.isRecurring) return { rule: undefined, isEarly: false };
    return engine.snapshot(async (tx) => {
      const rule = await findCancelling(tx, tenant, record);
      return { rule, isEarly: await isHourSpent(tx, tenant, record) };
    });
  }

  /** Throws only outages. */
  async function fire(timer: Timer, value: Bytes | undefined): Promise<void> {
    const { tenant } = timer;
    const record = value && decodeSchedule(value);
    if (record === undefined || record.timerMs !== timer.dueMs) {
      // The record was removed or its timer moved after the list was read, or the tenant is
      // gone.
      return await clearStale(timer);
    }
    try {
      const { rule, isEarly } = await judge(tenant, record);
      if (rule !== undefined) await endCancelled(tenant, record, rule);
      else if (isEarly) await waitForNextHour(tenant, record);
      else await append(tenant, record);
    } catch (error) {
      if (isOutage(error)) throw error;
      await postpone(tenant, record, error);
    }
  }

  async function endCancelled(tenant: number, record: ScheduleRecord, rule: CancelRule) {
    const end = cancelledBy(rule, host.nowMs());
    await settle(tenant, record, (tx) => removeSchedule(tx, tenant, record, end));
  }

  /** Whether a recurring timer has to wait because such timers have used up this hour's budget. */
  async function isHourSpent(tx: ReadTransaction, tenant: number, record: ScheduleRecord) {
    if (!record.root?.isRecurring) return false;
    const count = await readRecurring(tx, tenant, hourOf(host.nowMs()));
    return count >= limits.recurringEventsPerHourMax;
  }

  async function waitForNextHour(tenant: number, record: ScheduleRecord): Promise<void> {
    const share = host.randomBytes(1)[0]! / 256;
    const after = { ...record, timerMs: momentOfNextHour(host.nowMs(), share) };
    await settle(tenant, record, (tx) => {
      replaceSchedule(tx, tenant, record, after);
    });
  }

  async function clearStale(timer: Timer): Promise<void> {
    await engine.transact(async (tx) => {
      const record = await readSchedule(tx, timer.tenant, timer.id);
      if (record?.timerMs !== timer.dueMs) clearTimer(tx, timer);
    });
  }

  async function append(tenant: number, record: ScheduleRecord): Promise<void> {
    const spec = await specs.current(tenant);
    const moment = { nowMs: host.nowMs(), ownWaitMs: outbox.ownWaitMs(tenant) };
    const { id, emission, requestId, fireAtMs } = record;
    const fire_at = new Date(fireAtMs).toISOString();
    const stamp = { actor: SCHEDULER, scheduled: { scheduled_id: id, fire_at } };
    const cause = scheduleCause(tenant, record, moment.nowMs);
    const root = scheduleRoot(record);
    const request = { emission, stamp, requestId, cause, root };
    const prepared = await emitter.write(tenant, spec, request, moment);
    if (!prepared.ok) return await drop(tenant, record, prepared.message, spec.hash);
    const { outbox: left } = prepared.written;
    if (left !== undefined && moment.ownWaitMs > 0) await outbox.drainBeforeReply(left);
  }

  /** Gives up an event that does not fit the current spec. */
  async function drop(tenant: number, record: ScheduleRecord, message: string, hash: string) {
    const error = scheduleError(host, record, message);
    const isSettled = await settle(tenant, record, async (tx) => {
      // This process may not know yet of the deploy under which the event was made.
      if (!await isCurrentSpec(tx, tenant, hash)) return false;
      removeSchedule(tx, tenant, record, cancelledFor("failed", host.nowMs()));
      storeErrorRecord(tx, tenant, error);
      return true;
    });
    if (isSettled) countErrors(combiner.counters, [error]);
    else if (isSettled === false) specs.forget(tenant);
  }

  async function postpone(tenant: number, record: ScheduleRecord, error: unknown): Promise<void> {
    const reason = error instanceof Error ? error.message : String(error);
    const tries = record.tries + 1;
    const isLast = tries >= limits.reactionTriesMax;
    const { id } = record;
    const fields = { tenant, scheduled_id: id, tries, reason };
    host.log(isLast ? "error" : "warn", "A scheduled event could not be written", fields);
    const pauseMs = retryPauseMs(tries, host.randomBytes(1)[0]! / 256);
    const after = { ...record, tries, timerMs: host.nowMs() + pauseMs };
    const parked = scheduleError(host, record, `It failed ${tries} times and is not tried again`);
    const isSettled = await settle(tenant, record, (tx) => {
      if (isLast) {
        parkSchedule(tx, tenant, record);
        storeErrorRecord(tx, tenant, parked);
      } else {
        replaceSchedule(tx, tenant, record, after);
      }
    });
    if (isLast && isSettled) countErrors(combiner.counters, [parked]);
  }

  /**
   * Changes a record. Returns undefined if the record has changed meanwhile, and false only if
   * `change` returned false.
   */
  function settle(
    tenant: number,
    { id, tries }: ScheduleRecord,
    change: (tx: Transaction) => void | Promise<boolean>,
  ): Promise<boolean | undefined> {
    return engine.transact(async (tx) => {
      const now = await readSchedule(tx, tenant, id);
      return now?.tries !== tries ? undefined : await change(tx) !== false;
    });
  }

  return { drain, pauseMs, settle: firing.settle };
}

/** The event fires only while its record is unchanged and no cancel mark has cancelled it. */
export function scheduleCause(tenant: number, record: ScheduleRecord, nowMs: number): Cause {
  const { id, cancelOn, root } = record;
  return {
    origin: "scheduled",
    subject: scheduleSubject(id),
    rules: cancelOn.map(({ key, eventType }) => ruleName(key, eventType)),
    async isDue(tx) {
      const [now, cancelled] = await Promise.all([
        readSchedule(tx, tenant, id),
        isCancelled(tx, tenant, record),
      ]);
      return now?.tries === record.tries && !cancelled;
    },
    settle(tx, { targets: [target] }) {
      const streamId = eventId(target!.first);
      removeSchedule(tx, tenant, record, { state: "fired", atMs: nowMs, streamId });
      if (root?.isRecurring) {
        countRecurring(tx, tenant, { hour: hourOf(nowMs), events: 1, subject: id });
      }
    },
  };
}

function scheduleRoot({ root, by }: ScheduleRecord): Root {
  return rootOf(root, by.key, by.streamId);
}
