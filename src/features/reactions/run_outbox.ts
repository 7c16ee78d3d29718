/**
 * Processes the outbox: writes implied events and shows events to sagas. The process that put
 * an entry in processes it at once. The workers process what it leaves behind because it died,
 * the store was unavailable or there was too much. See docs/reference/reactions.md.
 *
 * An event and the removal of its entry are one transaction that reads the entry first. So each
 * entry has exactly one effect, however many processes try it. Leases only keep processes from
 * trying the same entries.
 */

import { countErrors } from "../../domain/measures/counters.ts";
import { OUTBOX_TURN } from "../../domain/fairness/fair_share.ts";
import { limits } from "../../domain/limits.ts";
import {
  type EmitEntry,
  entryRoot,
  impliedStamp,
  isEntryDue,
  type OutboxPlace,
  type OutboxWork,
  OWN_WAIT_MS,
  retryPauseMs,
} from "../../domain/reaction/outbox_entry.ts";
import type { CompiledSpec } from "../../domain/spec/compiled.ts";
import { splitStreamKey, type StreamKey } from "../../domain/identifier.ts";
import type { Host } from "../../host.ts";
import type { Bytes, Engine, ReadTransaction } from "../../kv/engine.ts";
import type { PausedReactions } from "./follow_pauses.ts";
import type { SpecCache } from "../base/current_spec.ts";
import { storeErrorRecord } from "../../store/error_records.ts";
import {
  clearEntry,
  hasEntry,
  listOutbox,
  listOutboxTurn,
  parkEntry,
  replaceEntry,
} from "../../store/reactions/outbox.ts";
import { keys } from "../../store/keys.ts";
import { isCurrentSpec } from "../../store/specs.ts";
import type { SagaAdvancer } from "../sagas/advance_sagas.ts";
import { isOutage } from "../../domain/outage.ts";
import type { Combiner } from "../writes/combine.ts";
import type { Emitter } from "../writes/write_emission.ts";
import type { Cause } from "../writes/prepared_write.ts";
import { contextOf, openDropper } from "./drop_implied.ts";
import { makeErrorRecord } from "../base/record_error.ts";
import { noteImplied } from "../../store/effects.ts";
import type { WorkShare } from "../base/share_work.ts";
import { type Consequence, openSagaLanes, openWorkLine, type SagaLanes } from "./reaction_lines.ts";
import { openShares } from "../../domain/fairness/shares.ts";

export interface OutboxRunner {
  /**
   * How many milliseconds other processes leave new outbox entries of an environment to this
   * one. 0 while it holds as many as it may, or while the environment is paused: then it leaves
   * them to the workers.
   */
  ownWaitMs(tenant: number): number;
  /**
   * Processes the entries that a write of this process has just left, and all that follows from
   * them. Resolves after 250 ms at the latest, while the rest goes on. Never rejects, because
   * the write has already been committed.
   */
  drainBeforeReply(works: readonly OutboxWork[]): Promise<void>;
  /** The same without a reply that waits. It never rejects either. */
  drainOwn(works: readonly OutboxWork[]): Promise<void>;
  /**
   * Looks at the next `limit` entries of each shard in this process's share and processes those
   * that are due. If a shard has more, it also looks at the first entries of other tenants, in
   * turn. Returns how many it processed. Repeated calls cycle through the shards. Throws if the
   * store is unavailable.
   */
  drain(limit: number, isStopping?: () => boolean): Promise<number>;
  readonly sagas: SagaLanes;
  /** Resolves when none of it is running any more. */
  settle(): Promise<void>;
}

export interface RunnerParts {
  readonly engine: Engine;
  readonly host: Host;
  readonly specs: SpecCache;
  readonly combiner: Combiner;
  readonly share: WorkShare;
  readonly sagas: SagaAdvancer;
  readonly emitter: Emitter;
  readonly paused: PausedReactions;
}

/**
 * Bytes that a round reads of all shards together, and again for the turns of other tenants. They
 * are decoded in one piece.
 */
const PAGES_BYTES_MAX = 1024 * 1024;
const MESSAGE_CHARACTERS_MAX = 500;

export function createOutboxRunner(parts: RunnerParts): OutboxRunner {
  const { engine, host, specs, combiner, share, paused } = parts;
  /** By shard: where its next page begins. */
  const cursors = new Map<number, Bytes>();
  /** By shard with more than a page: the tenant whose first entries were looked at last. */
  const turns = new Map<number, number>();
  const running = new Set<Promise<void>>();
  const held = openHeldWorks();

  function ownWaitMs(tenant: number): number {
    return held.isFull(tenant) || paused.tenants.has(tenant) ? 0 : OWN_WAIT_MS;
  }

  const dropper = openDropper({ engine, host, specs, counters: combiner.counters });
  const line = openWorkLine({ attempt, onOver: held.drop });
  const lanes = openSagaLanes(parts.sagas, ownWaitMs, (works) => line.doAll(held.take(works)));

  async function drainOwn(works: readonly OutboxWork[]): Promise<void> {
    const run = line.doAll(held.take(works)).catch((error: unknown) => {
      // The store is unavailable; the workers find what is left once it is back.
      host.log("warn", "What a write has set off waits for the workers", { reason: say(error) });
    }).finally(() => running.delete(run));
    running.add(run);
    await run;
  }

  async function drainBeforeReply(works: readonly OutboxWork[]): Promise<void> {
    let cancel = () => {};
    const over = new Promise<void>((resolve) => {
      cancel = host.startTimer(limits.drainBeforeReplyMsMax, resolve);
    });
    await Promise.race([drainOwn(works), over]);
    cancel();
  }

  /** Throws only outages. */
  async function attempt(work: OutboxWork): Promise<Consequence> {
    const { entry, place: { tenant } } = work;
    if (paused.tenants.has(tenant)) return {};
    try {
      if (entry.kind === "emit") return { works: await emit(work, entry) };
      const { following } = await lanes.move(tenant, { kind: "event", work });
      return { running: following };
    } catch (error) {
      if (isOutage(error)) throw error;
      await postpone(work, error);
      return {};
    }
  }

  /** Returns the entries that its event has left and this process takes. */
  async function emit(work: OutboxWork, entry: EmitEntry): Promise<readonly OutboxWork[]> {
    const { tenant } = work.place;
    const spec = await specs.current(tenant);
    if (isTakenOut(spec, work, entry)) {
      await dropper.drop({ work, entry }, spec.hash);
      return [];
    }
    const moment = { nowMs: host.nowMs(), ownWaitMs: ownWaitMs(tenant) };
    const request = {
      emission: entry.emission,
      stamp: impliedStamp(work.place, entry),
      requestId: entry.requestId,
      cause: causeOf(work),
      root: entryRoot(work.place, entry),
    };
    const prepared = await parts.emitter.write(tenant, spec, request, moment);
    if (!prepared.ok) {
      await drop(work, entry, prepared.message, spec.hash);
      return [];
    }
    const { outbox: left } = prepared.written;
    return left !== undefined && moment.ownWaitMs > 0 ? held.take(left) : [];
  }

  /** Gives up an event that does not fit the current spec. Nothing else is lost with it. */
  async function drop(work: OutboxWork, entry: EmitEntry, message: string, hash: string) {
    const { tenant } = work.place;
    const record = makeErrorRecord(host, {
      error_type: "implication_failed",
      message: message.slice(0, MESSAGE_CHARACTERS_MAX),
      context: contextOf(work.place, entry),
      request_id: entry.requestId,
    });
    const isSettled = await engine.transact(async (tx) => {
      // This process may not know yet of the deploy under which the event was made.
      if (!await isCurrentSpec(tx, tenant, hash)) return false;
      if (!await hasEntry(tx, work.place)) return undefined;
      clearEntry(tx, work);
      storeErrorRecord(tx, tenant, record);
      return true;
    }, { owner: tenant });
    if (isSettled) countErrors(combiner.counters, [record]);
    else if (isSettled === false) specs.forget(tenant);
  }

  /** Delays an entry's next try, or parks the entry after its last try. Throws only outages. */
  async function postpone(work: OutboxWork, error: unknown): Promise<void> {
    const reason = say(error);
    const { place, entry, bytes } = work;
    const tries = work.tries + 1;
    const isLast = tries >= limits.reactionTriesMax;
    const { tenant, stream, index } = place;
    host.log(isLast ? "error" : "warn", "What an event has set off could not be done", {
      tenant,
      stream,
      index,
      tries,
      reason,
    });
    const waitMs = retryPauseMs(tries, host.randomBytes(1)[0]! / 256);
    const after = { entry, sinceMs: host.nowMs(), waitMs, tries };
    const record = makeErrorRecord(host, {
      error_type: "implication_failed",
      message: `It failed ${tries} times and is not tried again`,
      context: contextOf(place, entry),
      request_id: entry.requestId,
    });
    const isParked = await engine.transact(async (tx) => {
      if (!await hasEntry(tx, place)) return false;
      if (!isLast) replaceEntry(tx, work, after);
      else {
        parkEntry(tx, { place, bytes, ...after });
        storeErrorRecord(tx, tenant, record);
      }
      return isLast;
    }, { owner: tenant });
    if (isParked) countErrors(combiner.counters, [record]);
  }

  async function drain(limit: number, isStopping = () => false): Promise<number> {
    const leases = await share.held("outbox");
    await paused.ready();
    const nowMs = host.nowMs();
    const bytesMax = Math.ceil(PAGES_BYTES_MAX / Math.max(1, leases.length));
    const pages = await engine.snapshot((tx) =>
      Promise.all(leases.map(({ shard }) => lookAt(tx, shard, limit, bytesMax)))
    );
    for (const [index, { shard }] of leases.entries()) {
      const { next, turn } = pages[index]!;
      if (next === undefined) cursors.delete(shard);
      else cursors.set(shard, next);
      turns.set(shard, turn);
    }
    const due = pages.flatMap(({ works }) => works).filter((work) =>
      isEntryDue(work, nowMs) && !held.has(work.place) && !paused.tenants.has(work.place.tenant)
    );
    if (due.length === 0 || isStopping()) return 0;
    await line.doAll(due);
    return due.length;
  }

  /** Reads the next page of a shard and, if that is not all, the first entries of other tenants. */
  async function lookAt(tx: ReadTransaction, shard: number, limit: number, bytesMax: number) {
    const page = await listOutbox(tx, shard, { start: cursors.get(shard), limit, bytesMax });
    const { works } = page;
    const last = works.at(-1)?.place.tenant;
    // A paused tenant's entries are skipped as a whole, however many there are.
    const isPassed = page.next !== undefined && last !== undefined && paused.tenants.has(last);
    const next = isPassed ? keys.tenantOutbox(shard, last).end : page.next;
    const turn = turns.get(shard) ?? 0;
    if (next === undefined && !cursors.has(shard)) return { works, next, turn };
    const others = await listOutboxTurn(tx, shard, turn, { ...OUTBOX_TURN, bytesMax });
    const served = new Set(works.map(({ place }) => place.tenant));
    const taken = others.works.filter(({ place }) => !served.has(place.tenant));
    return { works: [...works, ...taken], next, turn: others.after };
  }

  async function settle(): Promise<void> {
    await Promise.all(running);
  }

  return { ownWaitMs, drainBeforeReply, drainOwn, drain, sagas: lanes, settle };
}

/**
 * Whether a deploy removed the rule that implied the event. False if the event's own type was
 * removed: such an event is reported as not fitting the spec.
 */
function isTakenOut(
  { aggregateTypes }: CompiledSpec,
  { place }: OutboxWork,
  { emission, eventType }: EmitEntry,
): boolean {
  if (!aggregateTypes.get(emission.aggregateType)?.events.has(emission.eventType)) return false;
  const trigger = aggregateTypes.get(splitStreamKey(place.stream).type)?.events.get(eventType);
  return trigger?.mayImply?.(emission) !== true;
}

function causeOf(work: OutboxWork): Cause {
  const { stream, index, number } = work.place;
  return {
    origin: "implied",
    subject: `outbox ${stream} ${index} ${number}`,
    isDue: (tx) => hasEntry(tx, work.place),
    settle(tx, { targets }) {
      clearEntry(tx, work);
      const written = targets.map(({ key, first }) => ({ stream: key as StreamKey, index: first }));
      noteImplied(tx, work.place.tenant, work.place, written);
    },
  };
}

function say(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Tracks the outbox entries that this process holds in memory. These are its own entries, from
 * the write that left them until they are done. Their number and their bytes are limited, and
 * environments share both limits. Entries beyond the limits are left to the workers, which read
 * the outbox page by page.
 */
interface HeldWorks {
  /** Whether an environment holds as many as it may. */
  isFull(tenant: number): boolean;
  /** Whether the entry is held already. If so, the workers must not do it as well. */
  has(place: OutboxPlace): boolean;
  /**
   * Holds the entries that one write of an environment has left until {@link drop}, and returns
   * them. Returns none if the environment holds as many as it may by now.
   */
  take(works: readonly OutboxWork[]): readonly OutboxWork[];
  /** Does nothing if the entry is not held. */
  drop(work: OutboxWork): void;
}

/** Entries in memory at most. */
const WORKS_MAX = 40_000;
/** Memory that an entry takes besides its stored bytes. */
const ENTRY_BYTES = 500;

export function openHeldWorks(): HeldWorks {
  const numbers = openShares(WORKS_MAX);
  const bytes = openShares(limits.outboxHeldBytesMax);
  const names = new Set<string>();

  function isFull(tenant: number): boolean {
    return names.size > 0 && (numbers.isFull(tenant) || bytes.isFull(tenant));
  }

  return {
    isFull,
    has: (place) => names.size > 0 && names.has(nameOf(place)),
    take(works) {
      if (works.length === 0 || isFull(works[0]!.place.tenant)) return [];
      for (const work of works) {
        numbers.add(work.place.tenant, 1);
        bytes.add(work.place.tenant, work.bytes + ENTRY_BYTES);
        names.add(nameOf(work.place));
      }
      return works;
    },
    drop(work) {
      if (!names.delete(nameOf(work.place))) return;
      numbers.add(work.place.tenant, -1);
      bytes.add(work.place.tenant, -work.bytes - ENTRY_BYTES);
    },
  };
}

function nameOf({ tenant, stream, index, number }: OutboxPlace): string {
  return `${tenant}/${stream}/${index}/${number}`;
}
