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
  findOutbox,
  hasEntry,
  listOutboxTurn,
  parkEntry,
  replaceEntry,
  type UnreadEntry,
  wholeEntry,
} from "../../store/reactions/outbox.ts";
import { entryTimes, openEntry } from "../../store/reactions/entry_bytes.ts";
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
import { openPieces, type Pieces } from "../../domain/fairness/pieces.ts";
import { openTransactionPieces } from "../../domain/fairness/transaction_pieces.ts";
import { openHeldWorks, waitShortly } from "./held_works.ts";

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
   * turn. Resolves after 250 ms at the latest, while the rest goes on; returns how many it has
   * begun. Repeated calls cycle through the shards, and leave out what goes on. Throws if the
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

/** Bytes that a round reads of all shards together, and again for the turns of other tenants. */
const PAGES_BYTES_MAX = 1024 * 1024;
/** Bytes of due entries after which a round leaves the other shards to the next one. */
const DUE_BYTES_MAX = 1024 * 1024;
const MESSAGE_CHARACTERS_MAX = 500;

/** A due entry with all its bytes, not decoded yet. */
interface DueEntry {
  readonly place: OutboxPlace;
  readonly whole: Bytes;
}

/** What a round has found in a shard, and where the next one goes on there. */
interface ShardPage {
  readonly shard: number;
  readonly due: readonly DueEntry[];
  readonly next: Bytes | undefined;
  readonly turn: number;
}

export function createOutboxRunner(parts: RunnerParts): OutboxRunner {
  const { engine, host, specs, combiner, share, paused } = parts;
  /** By shard: where its next page begins. */
  const cursors = new Map<number, Bytes>();
  /** By shard with more than a page: the tenant whose first entries were looked at last. */
  const turns = new Map<number, number>();
  /** Shards taken so far: a round that is cut short is followed by one that begins behind it. */
  let taken = 0;
  const running = new Set<Promise<void>>();
  const held = openHeldWorks();

  function ownWaitMs(tenant: number): number {
    return held.isFull(tenant) || paused.tenants.has(tenant) ? 0 : OWN_WAIT_MS;
  }

  const dropper = openDropper({ engine, host, specs, counters: combiner.counters });
  const line = openWorkLine({ attempt, onOver: held.drop });
  const lanes = openSagaLanes(parts.sagas, ownWaitMs, (works) => line.doAll(held.take(works)));

  async function drainOwn(works: readonly OutboxWork[]): Promise<void> {
    await follow(line.doAll(held.take(works)));
  }

  async function follow(all: Promise<void>): Promise<void> {
    const run = all.catch((error: unknown) => {
      // The store is unavailable; the workers find what is left once it is back.
      host.log("warn", "What a write has set off waits for the workers", { reason: say(error) });
    }).finally(() => running.delete(run));
    running.add(run);
    await run;
  }

  async function drainBeforeReply(works: readonly OutboxWork[]): Promise<void> {
    await waitShortly(host, drainOwn(works));
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
    const bounds = { limit, bytesMax: Math.ceil(PAGES_BYTES_MAX / Math.max(1, leases.length)) };
    const pieces = openTransactionPieces(host, "outbox");
    const pages = await engine.snapshot((tx) =>
      Promise.all(leases.map(({ shard }) => lookAt(tx, shard, bounds, pieces)))
    );
    if (isStopping()) return 0;
    const works = await takeDue(pages);
    const all = line.doAll(works);
    void follow(all);
    await waitShortly(host, all);
    return works.length;
  }

  /**
   * Decodes due entries, in time slices, and holds them. A shard that is left to the next round
   * is looked at again.
   */
  async function takeDue(pages: readonly ShardPage[]): Promise<readonly OutboxWork[]> {
    const pieces = openPieces(host);
    const works: OutboxWork[] = [];
    let bytes = 0;
    const begin = taken;
    for (let at = 0; at < pages.length && bytes < DUE_BYTES_MAX; at++) {
      const { shard, due, next, turn } = pages[(begin + at) % pages.length]!;
      taken++;
      if (next === undefined) cursors.delete(shard);
      else cursors.set(shard, next);
      turns.set(shard, turn);
      for (const { place, whole } of due) {
        if (held.has(place) || held.isFull(place.tenant)) continue;
        bytes += whole.length;
        works.push(...held.take([openEntry(place, whole)]));
        await pieces.rest();
      }
    }
    return works;
  }

  /** Reads the next page of a shard and, if that is not all, the first entries of other tenants. */
  async function lookAt(
    tx: ReadTransaction,
    shard: number,
    bounds: { readonly limit: number; readonly bytesMax: number },
    pieces: Pieces,
  ): Promise<ShardPage> {
    const page = await findOutbox(tx, shard, { start: cursors.get(shard), ...bounds });
    const { works } = page;
    const last = works.at(-1)?.place.tenant;
    // A paused tenant's entries are skipped as a whole, however many there are.
    const isPassed = page.next !== undefined && last !== undefined && paused.tenants.has(last);
    const next = isPassed ? keys.tenantOutbox(shard, last).end : page.next;
    const turn = turns.get(shard) ?? 0;
    await pieces.rest();
    if (next === undefined && !cursors.has(shard)) {
      return { shard, due: await readDue(tx, works, pieces), next, turn };
    }
    const { bytesMax } = bounds;
    const others = await listOutboxTurn(tx, shard, turn, { ...OUTBOX_TURN, bytesMax, pieces });
    const served = new Set(works.map(({ place }) => place.tenant));
    const added = others.works.filter(({ place }) => !served.has(place.tenant));
    const due = await readDue(tx, [...works, ...added], pieces);
    return { shard, due, next, turn: others.after };
  }

  /** The entries that may be done now, with all their bytes. None is decoded. */
  async function readDue(
    tx: ReadTransaction,
    works: readonly UnreadEntry[],
    pieces: Pieces,
  ): Promise<readonly DueEntry[]> {
    const nowMs = host.nowMs();
    const due: DueEntry[] = [];
    for (const work of works) {
      const { place } = work;
      if (paused.tenants.has(place.tenant) || held.has(place)) continue;
      const whole = await wholeEntry(tx, work);
      if (isEntryDue(entryTimes(whole), nowMs)) due.push({ place, whole });
      const rest = pieces.rest();
      if (rest !== undefined) await rest;
    }
    return due;
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
