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
import type { Engine, ReadTransaction, Transaction } from "../../kv/engine.ts";
import type { PausedReactions } from "../reactions/follow_pauses.ts";
import type { SpecCache } from "../base/current_spec.ts";
import { storeErrorRecord } from "../../store/error_records.ts";
import {
  cancelledBy,
  cancelledFor,
  findCancelling,
  isCancelled,
  parkSchedule,
  readSchedule,
  readSizedSchedule,
  removeSchedule,
  replaceSchedule,
  ruleName,
  type ScheduleRecord,
} from "../../store/reactions/schedules.ts";
import { countRecurring, readRecurring } from "../../store/reactions/roots.ts";
import { isCurrentSpec } from "../../store/specs.ts";
import { clearTimer, listDueTimers, readFirstTimer, type Timer } from "../../store/timers.ts";
import type { SagaAdvancer } from "../sagas/advance_sagas.ts";
import type { OwnLanes } from "../writes/append_deliveries.ts";
import { scheduleSubject } from "../writes/append_reactions.ts";
import { isOutage } from "../../domain/outage.ts";
import type { Combiner } from "../writes/combine.ts";
import type { Emitter } from "../writes/write_emission.ts";
import type { Cause } from "../writes/prepared_write.ts";
import { makeErrorRecord } from "../base/record_error.ts";
import type { OutboxRunner } from "../reactions/run_outbox.ts";
import { putTimersAside, returnTimers } from "../reactions/manage_reactions.ts";
import { fireErasureTimers } from "../erasure/erase_due.ts";
import type { WorkShare } from "../base/share_work.ts";
import { laneOfTimer, markLane, signalLanes } from "../../store/listeners/deliveries.ts";
import { openSagaTimers } from "../reactions/reaction_lines.ts";

export interface TimerRunner {
  /**
   * Processes up to about `limit` due timers of this process's share, the oldest first. If
   * there are more, it also takes up to as many again of other tenants. Returns how many it
   * tried.
   */
  drain(limit: number, isStopping?: () => boolean): Promise<number>;
  /**
   * For how many milliseconds nothing known can be due, capped so that timers set by other
   * processes are not missed.
   */
  pauseMs(): number;
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
const MESSAGE_CHARACTERS_MAX = 500;
/** Records read at a time: few while they are so large together, otherwise many. */
const READ_TOGETHER_MIN = 8;
const READ_TOGETHER_MAX = 64;
const READ_BYTES = 64 * 1024;
/** Stored bytes of records that fire at a time. As objects they take up to twenty times as much. */
const FIRING_BYTES_MAX = 2 * 1024 * 1024;

/** A record whose timer is due. */
interface Due {
  readonly record: ScheduleRecord;
  readonly bytes: number;
  /** What has cancelled it. */
  readonly rule: CancelRule | undefined;
  /** Whether it has to wait for the next hour. */
  readonly isEarly: boolean;
}

export function createTimerRunner(parts: TimerParts): TimerRunner {
  const { engine, host, specs, combiner, share, outbox, emitter, paused } = parts;
  const fireSagas = openSagaTimers(host, parts.sagas, outbox.sagas);
  let nextMs: number | undefined;
  /**
   * By shard with more timers than one round takes: up to where other tenants' timers were
   * searched.
   */
  const looked = new Map<number, Timer>();

  async function drain(limit: number, isStopping = () => false): Promise<number> {
    const leases = await share.held("timer");
    await paused.ready();
    const returned = leases.length === 0 ? 0 : await returnTimers(engine, paused);
    const nowMs = host.nowMs();
    const limitEach = Math.ceil(limit / Math.max(1, leases.length));
    const found = await engine.snapshot((tx) =>
      Promise.all(leases.map(async ({ shard }) => {
        const due = await listDueTimers(tx, shard, { nowMs, limit: limitEach });
        return { shard, due, first: due[0] ?? await readFirstTimer(tx, shard) };
      }))
    );
    const others: Timer[] = [];
    for (const { shard, due } of found) {
      if (due.length < limitEach) looked.delete(shard);
      else others.push(...await findOthers(shard, nowMs, due));
    }
    const firsts = found.flatMap(({ first }) => first === undefined ? [] : [first.dueMs]);
    nextMs = firsts.length === 0 ? undefined : firsts.reduce((a, b) => Math.min(a, b));
    const all = [...found.flatMap(({ due }) => due), ...others];
    const aside = await putTimersAside(engine, paused, all);
    const due = all.filter((timer) => !aside.has(timer));
    if (due.length === 0 || isStopping()) return returned + aside.size;
    const told = fireSagas(due.filter(({ kind }) => kind === "saga"));
    const scheduled = due.filter(({ kind }) => kind === "scheduled");
    const fired = fireAll(scheduled);
    const deliveries = due.filter(({ kind }) => kind === "delivery");
    const marked = fireDeliveryTimers(engine, parts.lanes, deliveries);
    const erasures = fireErasureTimers(engine, due.filter(({ kind }) => kind === "erasure"));
    const results = await Promise.allSettled([told, marked, erasures, fired]);
    for (const result of results) if (result.status === "rejected") throw result.reason;
    return returned + aside.size + scheduled.length + await told + await marked + await erasures;
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
    const { taken, last } = takeOthers(first, window, first.length);
    const isRound = window.length < TIMER_WINDOW && last === window.at(-1);
    if (isRound || last === undefined) looked.delete(shard);
    else looked.set(shard, last);
    // A round scans up to 16 such windows, each a millisecond or two long.
    await host.yieldTurn();
    return taken;
  }

  function pauseMs(): number {
    if (nextMs === undefined) return PAUSE_MS_MAX;
    return Math.max(PAUSE_MS_MIN, Math.min(nextMs - host.nowMs(), PAUSE_MS_MAX));
  }

  /**
   * Reads a few records at a time, in time slices, and fires them. Waits with the next ones while
   * so many bytes of records are firing. Throws only outages, when nothing of it is running.
   */
  async function fireAll(timers: readonly Timer[]): Promise<void> {
    const pieces = openPieces(host);
    const firing = new Set<Promise<void>>();
    let bytes = 0;
    let outage: { readonly error: unknown } | undefined;
    let count = READ_TOGETHER_MIN;
    for (let at = 0; at < timers.length && outage === undefined;) {
      const some = timers.slice(at, at + count);
      at += count;
      const found = await Promise.all(some.map(find)).catch((error) => void (outage = { error }));
      let read = 0;
      for (const [index, due] of (found ?? []).entries()) {
        const own = due?.bytes ?? 0;
        read += own;
        const one = fire(some[index]!, due)
          .catch((error) => void (outage ??= { error }))
          .finally(() => {
            bytes -= own;
            firing.delete(one);
          });
        firing.add(one);
      }
      bytes += read;
      // What comes next is probably of the same size.
      count = read > READ_BYTES ? READ_TOGETHER_MIN : READ_TOGETHER_MAX;
      while (bytes > FIRING_BYTES_MAX && firing.size > 0) await Promise.race(firing);
      const rest = pieces.rest();
      if (rest !== undefined) await rest;
    }
    await Promise.all(firing);
    if (outage !== undefined) throw outage.error;
  }

  function find({ tenant, id }: Timer): Promise<Due | undefined> {
    return engine.snapshot(async (tx) => {
      const found = await readSizedSchedule(tx, tenant, id);
      if (found === undefined) return undefined;
      const rule = await findCancelling(tx, tenant, found.record);
      return { ...found, rule, isEarly: await isHourSpent(tx, tenant, found.record) };
    });
  }

  /** Throws only outages. */
  async function fire(timer: Timer, found: Due | undefined): Promise<void> {
    const { tenant } = timer;
    if (found === undefined || found.record.timerMs !== timer.dueMs) {
      // The record was removed or its timer moved after the list was read, or the tenant is
      // gone.
      return await clearStale(timer);
    }
    const { record, rule, isEarly } = found;
    try {
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
    const error = errorOf(host, record, message);
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
    const parked = errorOf(host, record, `It failed ${tries} times and is not tried again`);
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

  return { drain, pauseMs };
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

function errorOf(host: Host, record: ScheduleRecord, message: string) {
  const { id, emission: { key, eventType }, by, requestId } = record;
  return makeErrorRecord(host, {
    error_type: "implication_failed",
    message: message.slice(0, MESSAGE_CHARACTERS_MAX),
    context: {
      operation: "fire_scheduled",
      scheduled_id: id,
      event_key: by.key,
      event_type: by.eventType,
      stream_id: by.streamId,
      implied_key: key,
      implied_event_type: eventType,
    },
    request_id: requestId,
  });
}

/**
 * Marks the lanes of deliveries whose retry pause is over; returns the number of timers. Whoever
 * works a lane notices a mark that is no longer needed.
 */
async function fireDeliveryTimers(
  engine: Engine,
  lanes: OwnLanes,
  timers: readonly Timer[],
): Promise<number> {
  if (timers.length === 0) return 0;
  const marked = timers.map(laneOfTimer);
  await engine.transact((tx) => {
    for (const timer of timers) clearTimer(tx, timer);
    for (const lane of marked) markLane(tx, lane);
    if (!marked.every(lanes.isOwn)) signalLanes(tx);
    return Promise.resolve();
  });
  lanes.offer(marked);
  return timers.length;
}
