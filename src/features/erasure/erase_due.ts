/**
 * Erases the streams whose grace period is over. The tombstone determines the next step, and
 * each step is one transaction that reads the tombstone and records its progress in it. So each
 * step happens exactly once, whichever process continues and however often. See
 * docs/reference/erasure.md.
 */

import { assert } from "../../domain/assert.ts";
import { type ErasureReceipt, signReceipt } from "../../domain/erasure/receipt.ts";
import {
  isErasureOver,
  type RewriteProgress,
  type RewriteResult,
  type Tombstone,
} from "../../domain/erasure/tombstone.ts";
import type { Lease } from "../../domain/fairness/lease.ts";
import { isOutage } from "../../domain/outage.ts";
import type { Host } from "../../host.ts";
import type { Engine, Transaction } from "../../kv/engine.ts";
import { openTenantTurns } from "../base/tenant_turns.ts";
import { openTenantNumbers, type TenantNumbers } from "../base/tenant_numbers.ts";
import type { ErasedStream } from "../../store/erased_copies.ts";
import { readCurrentSigningKey } from "../../store/audit/signing_keys.ts";
import {
  clearErasure,
  type ErasurePlace,
  listErasures,
  markErasure,
  readTombstone,
  saveTombstone,
  signalErasure,
  waitForErasure,
} from "../../store/tombstones.ts";
import { clearTimer, type Timer } from "../../store/timers.ts";
import type { WorkShare } from "../base/share_work.ts";
import { finishTransfers } from "../base/activate_work.ts";
import { FIRST_COPY, removeCopies } from "./copies.ts";
import { extendChain } from "../../domain/audit/chain.ts";
import { extendFrontierBy } from "../../domain/audit/frontier.ts";
import { ERASED_TYPE, markerOf } from "../../domain/erasure/marker.ts";
import { decodeEvent } from "../../domain/event.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import { countRewrite, markChange, readEpoch } from "../../store/streams/audit_cuts.ts";
import { logRewrite } from "../../store/projections/erased_projections.ts";
import { movePoint } from "../../store/streams/geo_index.ts";
import { enqueueStreamRebuild, REBUILD_EVERY_BYTES } from "../../store/streams/rebuilds.ts";
import type { ChainedEvent, StreamHead } from "../../store/streams/stream_head.ts";
import { type IndexedEvent, readEvents } from "../../store/streams/stream_events.ts";
import { placeEvents, placeSegments, readHead } from "../../store/streams/streams.ts";

export interface ErasureRunner {
  /**
   * Does some steps of each due erasure, for at most `limit` erasures, and returns the number
   * of steps. Stops early, between two steps, once `isStopping` returns true.
   */
  drain(limit: number, isStopping?: () => boolean): Promise<number>;
}

/** Steps of one erasure before the next erasure has its turn. */
const TURN_STEPS = 50;
/**
 * Commits wait while the store empties its logs, so that takes one part in so many of the time,
 * whatever is erased.
 */
const FORGET_PART = 50;
const FORGET_PAUSE_MS_MAX = 10_000;
/** Erasures that wait for their receipts together. No other begins while there are so many. */
const READY_MAX = 1_000;

/** What is left after a step. */
type Rest = "more" | "receipt" | "over" | "lost";

export function createErasureRunner(engine: Engine, host: Host, share: WorkShare): ErasureRunner {
  const tenants = openTenantNumbers(engine);
  const turns = openTenantTurns<ErasurePlace>({
    list: (tx, { tenant, name: id }, limit) => listErasures(tx, { tenant, id }, limit),
    nameOf: ({ id }) => id,
  });
  /** Erasures that only lack their receipts, until the logs are emptied for all of them. */
  const ready = new Map<string, ErasurePlace>();
  let forgetAtMs = -Infinity;

  async function drain(limit: number, isStopping = () => false): Promise<number> {
    const [lease] = await share.held("erasure");
    if (lease === undefined) return 0;
    const mayGoOn = () => !isStopping() && share.isRunning(lease);
    const found = ready.size < READY_MAX
      ? await engine.snapshot((tx) => turns.list(tx, limit)).then(turns.take)
      : [];
    let steps = 0;
    for (const place of found) {
      if (ready.has(nameOf(place))) continue;
      steps += await eraseSome(place, lease, mayGoOn).catch((error) => leaveAsItIs(place, error));
    }
    return steps + await completeAll(lease, mayGoOn);
  }

  /** A stream that cannot be erased must not block the others. An outage is thrown instead. */
  function leaveAsItIs({ tenant, id }: ErasurePlace, error: unknown): number {
    if (!(error instanceof Error) || isOutage(error)) throw error;
    host.log("error", "A stream could not be erased", { tenant, id, reason: error.message });
    return 0;
  }

  async function eraseSome(
    place: ErasurePlace,
    lease: Lease,
    mayGoOn: () => boolean,
  ): Promise<number> {
    // After this, imported work is in the queues, where the removers look for copies.
    await finishTransfers(engine);
    for (let steps = 0; steps < TURN_STEPS; steps++) {
      if (!mayGoOn()) return steps;
      const rest = await engine.transact((tx) => step(tx, place, lease));
      if (rest === "receipt") ready.set(nameOf(place), place);
      if (rest !== "more") return steps + 1;
      await host.yieldTurn();
    }
    return TURN_STEPS;
  }

  async function step(tx: Transaction, place: ErasurePlace, lease: Lease): Promise<Rest> {
    if (!await share.holds(tx, lease)) return "lost";
    const { tenant, id } = place;
    const tombstone = await readTombstone(tx, tenant, id);
    if (tombstone === undefined || isErasureOver(tombstone)) {
      clearErasure(tx, place);
      return "over";
    }
    const nowMs = host.nowMs();
    const isEarly = tombstone.state === "pending" && nowMs < tombstone.executeAtMs;
    if (isEarly) {
      // The timer was fired too early, by a process whose clock was ahead. The erasure waits
      // again.
      clearErasure(tx, place);
      waitForErasure(tx, tenant, tombstone);
      return "over";
    }
    const next = await advance(tx, tenant, tombstone, nowMs);
    if (next === undefined) return "receipt";
    saveTombstone(tx, tenant, next);
    return "more";
  }

  /**
   * Finishes all erasures of which everything is gone, once it is gone from this machine's files
   * as well. Returns how many those were.
   */
  async function completeAll(lease: Lease, mayGoOn: () => boolean): Promise<number> {
    const places = [...ready.values()];
    const startedMs = host.monotonicMs();
    if (places.length === 0 || startedMs < forgetAtMs || !mayGoOn()) return 0;
    // Once for all: each time, all nodes drop all states that they have in memory.
    await engine.transact((tx) => Promise.resolve(signalErasure(tx)));
    await engine.forget();
    const nowMs = host.monotonicMs();
    forgetAtMs = nowMs + Math.min(FORGET_PART * (nowMs - startedMs), FORGET_PAUSE_MS_MAX);
    let done = 0;
    for (const place of places) {
      await complete(place, lease).catch((error) => leaveAsItIs(place, error));
      ready.delete(nameOf(place));
      done++;
      if (!mayGoOn()) break;
    }
    return done;
  }

  /** Signs the receipt and stores it in the tombstone. */
  async function complete({ tenant, id }: ErasurePlace, lease: Lease): Promise<void> {
    const tombstone = await engine.snapshot((tx) => readTombstone(tx, tenant, id));
    if (tombstone === undefined || isErasureOver(tombstone)) return;
    const completed_at = new Date(host.nowMs()).toISOString();
    const receipt = await makeReceipt(engine, tenants, tenant, { ...tombstone, completed_at });
    await engine.transact(async (tx) => {
      if (!await share.holds(tx, lease)) return;
      const now = await readTombstone(tx, tenant, id);
      if (now === undefined || isErasureOver(now)) return;
      saveTombstone(tx, tenant, { ...now, state: "completed", completed_at, receipt });
      clearErasure(tx, { tenant, id });
    });
  }

  return { drain };
}

function nameOf({ tenant, id }: ErasurePlace): string {
  return `${tenant}/${id}`;
}

/** The tombstone after one step; undefined if only the receipt is left. */
async function advance(
  tx: Transaction,
  tenant: number,
  tombstone: Tombstone,
  nowMs: number,
): Promise<Tombstone | undefined> {
  // An imported tombstone has no removal progress, so all copies are searched.
  const { result, removal = FIRST_COPY } = tombstone;
  if (result === undefined) {
    const step = await rewriteStep(tx, tenant, tombstone);
    const { rewrite: _, ...before } = tombstone;
    if (step.kind === "more") return { ...before, state: "running", rewrite: step.rewrite };
    const executed_at = new Date(nowMs).toISOString();
    const swapped = { result: step.result, removal: FIRST_COPY, executed_at };
    return { ...before, state: "running", ...swapped };
  }
  if (removal.copy === undefined) return undefined;
  const erased = erasedStream(tenant, tombstone, result);
  return { ...tombstone, removal: await removeCopies(tx, erased, removal) };
}

function erasedStream(tenant: number, tombstone: Tombstone, result: RewriteResult): ErasedStream {
  return {
    tenant,
    stream: tombstone.key,
    length: result.event_count,
    generation: result.generation,
    tombstoneId: tombstone.id,
    erasedMs: Date.parse(tombstone.executed_at!),
  };
}

async function makeReceipt(
  engine: Engine,
  tenants: TenantNumbers,
  number: number,
  tombstone: Tombstone,
): Promise<ErasureReceipt> {
  const tenant = await tenants.find(number);
  assert(tenant !== undefined, "a stream is of an environment");
  const key = await engine.snapshot((tx) => readCurrentSigningKey(tx, tenant.instanceId));
  assert(key !== undefined, "every instance has a signing key");
  const { id, legal_basis = null, result, executed_at, completed_at } = tombstone;
  const { key: stream, reason, requested_at, requested_by } = tombstone;
  const { instanceId: instance_id, environment } = tenant;
  const times = {
    requested_at,
    requested_by,
    executed_at: executed_at!,
    completed_at: completed_at!,
  };
  const said = { tombstone_id: id, key: stream, reason, legal_basis };
  return await signReceipt({ instance_id, environment, ...said, ...times, ...result! }, key);
}

/** Hands erasures whose grace period is over to the runner. Returns how many there were. */
export async function fireErasureTimers(engine: Engine, timers: readonly Timer[]): Promise<number> {
  if (timers.length === 0) return 0;
  await engine.transact((tx) => {
    for (const timer of timers) {
      clearTimer(tx, timer);
      markErasure(tx, timer);
    }
    return Promise.resolve();
  });
  return timers.length;
}

/** Limits of one step: bytes and number of events. Other work waits while a step runs. */
const STEP_BYTES = 1024 * 1024;
const STEP_EVENTS = 2_000;

/** The result of a step: more to do, or the stream as it is after the commit. */
type RewriteStep =
  | { readonly kind: "more"; readonly rewrite: RewriteProgress }
  | { readonly kind: "swapped"; readonly result: RewriteResult };

/**
 * Does one step of rewriting a stream as erasure markers, in a transaction that has read the
 * tombstone, guarded. The markers are stored next to the events, and the last step replaces the
 * events with them in the same transaction. So readers see either all events or all markers. A
 * write lands before the markers are complete and is erased as well, or it lands after them. A
 * step that dies has had no effect.
 */
async function rewriteStep(
  tx: Transaction,
  tenant: number,
  { id, key, rewrite }: Pick<Tombstone, "id" | "key" | "rewrite">,
): Promise<RewriteStep> {
  // Unguarded, because writers go on while markers are built.
  const head = await readHead(tx.unguarded, tenant, key);
  const before = rewrite ?? beginRewrite(head);
  assert(before.generation === head.generation + 1, "a stream is rewritten by one request only");
  const window = { from: before.length, to: head.length, bytesMax: STEP_BYTES };
  const read = await readEvents(tx.unguarded, tenant, key, window);
  const events = read.slice(0, STEP_EVENTS);
  const { after, markers } = extendRewrite(before, events, id);
  if (after.length < head.length) {
    placeSegments({ tx, tenant, stream: key }, before.generation, before.length, markers);
    return { kind: "more", rewrite: after };
  }
  // Guarded from here on: a concurrent write commits before this transaction or conflicts with
  // it.
  assert((await readHead(tx, tenant, key)).tip === head.tip, "a transaction reads one version");
  await swap(tx, tenant, { stream: key, head, before, done: after, markers });
  const { generation, length: event_count, erased: erased_count } = after;
  const result = { generation, event_count, erased_count };
  return { kind: "swapped", result: { ...result, previous_tip: head.tip!, tip: after.tip! } };
}

function beginRewrite({ generation }: StreamHead): RewriteProgress {
  return { generation: generation + 1, length: 0, erased: 0, bytes: 0, peaks: [] };
}

function extendRewrite(
  before: RewriteProgress,
  events: readonly IndexedEvent[],
  tombstoneId: string,
): { readonly after: RewriteProgress; readonly markers: readonly ChainedEvent[] } {
  let { erased, bytes, tip } = before;
  const markers = events.map(({ raw }): ChainedEvent => {
    const event = decodeEvent(raw);
    const marker = markerOf(event, raw, tombstoneId);
    if (event.type !== ERASED_TYPE) erased++;
    bytes += marker.bytes;
    tip = extendChain(tip, marker.raw);
    return { raw: marker.raw, bytes: marker.bytes, hash: tip };
  });
  const { count: length, peaks } = extendFrontierBy(
    { count: before.length, peaks: before.peaks },
    markers.map(({ hash }) => hash),
  );
  return { after: { ...before, length, erased, bytes, tip, peaks }, markers };
}

interface Swap {
  readonly stream: StreamKey;
  readonly head: StreamHead;
  readonly before: RewriteProgress;
  readonly done: RewriteProgress;
  readonly markers: readonly ChainedEvent[];
}

/**
 * Replaces the events with the markers. For anchors, the stream has changed in this epoch. As
 * with every rewrite, a cut under way becomes void.
 */
async function swap(
  tx: Transaction,
  tenant: number,
  { stream, head, before, done: { generation, bytes, tip, peaks }, markers }: Swap,
): Promise<void> {
  const epoch = await readEpoch(tx, tenant);
  const write = { tx, tenant, stream };
  markChange(write, head, epoch);
  const swapped: StreamHead = { ...head, generation, epoch, bytes, tip, peaks, place: undefined };
  movePoint(tx, tenant, stream, { before: head.place, after: undefined });
  placeEvents(write, before.length, markers, swapped);
  countRewrite(tx, tenant);
  await logRewrite(tx, tenant, stream);
  // A long stream is not readable without a snapshot, and all its snapshots have become void.
  if (bytes >= REBUILD_EVERY_BYTES) enqueueStreamRebuild(tx, tenant, stream);
}
