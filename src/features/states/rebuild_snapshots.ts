/**
 * Brings snapshots up to date in the background, in bounded chunks. It folds streams that have
 * grown, and all streams of a type whose handlers a deploy has changed. Unlike a synchronous
 * read, a rebuild is never refused for its size. See docs/reference/reading.md.
 */

import type { Lease } from "../../domain/fairness/lease.ts";
import { isOutage } from "../../domain/outage.ts";
import { accept, type Outcome } from "../../domain/refusal.ts";
import { openPieces } from "../../domain/fairness/pieces.ts";
import type { CompiledSpec } from "../../domain/spec/compiled.ts";
import { splitStreamKey } from "../../domain/identifier.ts";
import type { Host } from "../../host.ts";
import type { Engine, Transaction } from "../../kv/engine.ts";
import { foldInSteps, type FoldTools, type FoldWork } from "./fold_stream.ts";
import { listAggregateIds } from "../../store/streams/aggregates.ts";
import {
  advanceTypeRebuild,
  listStreamRebuilds,
  nextTypeRebuild,
  REBUILD_EVERY_BYTES,
  settleStreamRebuild,
  type StreamRebuild,
} from "../../store/streams/rebuilds.ts";
import {
  loadSnapshotBytes,
  saveSnapshot,
  type StateToSave,
} from "../../store/streams/snapshots.ts";
import { isCurrentFold, type SpecCache } from "../base/current_spec.ts";
import { readHead } from "../../store/streams/streams.ts";
import { openLateTurns } from "../base/late_turns.ts";
import type { WorkShare } from "../base/share_work.ts";
import { openTenantTurns, type TenantTurns } from "../base/tenant_turns.ts";

/** A rebuild is saved whenever it has folded this many stored bytes, so a crash loses no more. */
const SAVE_EVERY_BYTES = 16 * 1024 * 1024;
/** Stored bytes that a compute process folds at a time; others of the instance run in between. */
const STEP_BYTES = 4 * 1024 * 1024;
/**
 * A stream that takes longer is saved where it is, and goes on in a later turn, behind those of
 * other environments.
 */
const TURN_MS_MAX = 1_000;
/** A stream that grew by less since its snapshot needs no new one: folding the rest is as quick. */
const STREAM_BYTES_MIN = 64 * 1024;
/** Ids of a type that one step looks at. */
const TYPE_STEP_IDS = 200;
/** The holder of this shard also does the steps of types. */
const TYPE_SHARD = 0;

export interface Rebuilder {
  /**
   * Rebuilds up to `limit` streams, or does one step of a type. Returns how many items it
   * worked on. Stops early, between two chunks, once `isStopping` returns true; unfinished work
   * stays listed.
   */
  rebuild(limit: number, isStopping?: () => boolean): Promise<number>;
  /** Resolves when no rebuild goes on beside the calls. */
  settle(): Promise<void>;
}

/** Works on this process's shards. Rebuilding a stream twice is wasteful but harmless. */
export function createRebuilder(
  tools: FoldTools,
  specs: SpecCache,
  share: WorkShare,
): Rebuilder {
  const { engine, host } = tools;
  const turns = openShardTurns(engine);
  const late = openLateTurns(host);
  /** Whose types had the last step. */
  let lastTenant = 0;

  async function rebuild(limit: number, isStopping = () => false): Promise<number> {
    const leases = await share.held("rebuild");
    const waiting = await turns.take(leases, limit);
    /** Environments that have used up a turn: the rest of their streams wait for the next one. */
    const slow = new Set<number>();
    let done = late.collect();
    for (const { lease, work } of late.inTurn(waiting, ({ work }) => work.tenant)) {
      // Another process may have the lease by now, or soon.
      if (isStopping() || !share.isRunning(lease)) break;
      if (slow.has(work.tenant)) continue;
      const beganMs = host.monotonicMs();
      done += await late.take(work.tenant, () => rebuildOne(lease, work, isStopping));
      if (host.monotonicMs() - beganMs > TURN_MS_MAX) slow.add(work.tenant);
    }
    // Those that go on beside this round do not hold up the types of others.
    if (done > 0 || isStopping()) return done;
    const first = leases.find(({ shard }) => shard === TYPE_SHARD);
    if (first === undefined) return 0;
    const tenant = await engine.transact((tx) => stepType(tx, { share, lease: first, lastTenant }));
    lastTenant = tenant ?? 0;
    return tenant === undefined ? 0 : 1;
  }

  async function rebuildOne(
    lease: Lease,
    work: StreamRebuild,
    isStopping: () => boolean,
  ): Promise<number> {
    const isEnding = () => isStopping() || !share.isRunning(lease);
    const spec = await specs.current(work.tenant);
    const bytes = await rebuildStream(tools, spec, work, isEnding)
      .catch((error: unknown) => leaveAsItIs(host, work, error));
    if (isEnding() || bytes === undefined) return 1;
    const isDone = await engine.transact(async (tx) =>
      await share.holds(tx, lease) && await settle(tx, work, spec, bytes)
    );
    // The stream stays listed: the spec may have been an old one, used until this node hears of
    // a deploy.
    if (!isDone) specs.forget(work.tenant);
    return 1;
  }

  return { rebuild, settle: late.settle };
}

interface HeldRebuild {
  readonly lease: Lease;
  readonly work: StreamRebuild;
}

/**
 * Takes an equal number of waiting streams from each shard, so that no shard blocks the others.
 * In each, environments take turns, and a stream that stays on the list has its next turn behind
 * the others.
 */
function openShardTurns(engine: Engine) {
  const byShard = new Map<number, TenantTurns<StreamRebuild>>();

  function turnsOf(shard: number): TenantTurns<StreamRebuild> {
    const turns = byShard.get(shard) ?? openTenantTurns<StreamRebuild>({
      list: (tx, { tenant, name: stream }, limit) =>
        listStreamRebuilds(tx, shard, limit, { tenant, stream }),
      nameOf: ({ stream }) => stream,
    });
    byShard.set(shard, turns);
    return turns;
  }

  async function take(leases: readonly Lease[], limit: number): Promise<HeldRebuild[]> {
    const limitEach = Math.ceil(limit / Math.max(1, leases.length));
    const lists = await engine.snapshot((tx) =>
      Promise.all(leases.map(({ shard }) => turnsOf(shard).list(tx, limitEach)))
    );
    return leases.flatMap((lease, index) =>
      turnsOf(lease.shard).take(lists[index]!).map((work) => ({ lease, work }))
    );
  }

  return { take };
}

/** A stream that cannot be folded must not hold up the others. An outage is thrown instead. */
function leaveAsItIs(host: Host, { tenant, stream }: StreamRebuild, error: unknown): number {
  if (!(error instanceof Error) || isOutage(error)) throw error;
  // Compared by name, because commands know the engine only by its types.
  if (error.name === "EngineLimitExceeded") throw error;
  const reason = error.message;
  host.log("error", "A stream cannot be folded in the background", { tenant, stream, reason });
  return Infinity;
}

/**
 * Takes a stream off the list after it was folded under `spec` up to `bytes` stored bytes. It
 * stays listed if another spec is current, or if it has grown by as much as gets a stream
 * listed.
 */
async function settle(
  tx: Transaction,
  work: StreamRebuild,
  spec: CompiledSpec,
  bytes: number,
): Promise<boolean> {
  if (!await isCurrentFold(tx, work.tenant, spec)) return false;
  const head = await readHead(tx.unguarded, work.tenant, work.stream);
  if (head.bytes - bytes >= REBUILD_EVERY_BYTES) return false;
  await settleStreamRebuild(tx, work);
  return true;
}

interface TypeTurn {
  readonly share: WorkShare;
  readonly lease: Lease;
  readonly lastTenant: number;
}

/** Does a step of a type of the next environment. Returns whose; undefined if there is none. */
async function stepType(
  tx: Transaction,
  { share, lease, lastTenant }: TypeTurn,
): Promise<number | undefined> {
  const work = await nextTypeRebuild(tx, lastTenant);
  if (work === undefined || !await share.holds(tx, lease)) return undefined;
  const page = { start: work.done, limit: TYPE_STEP_IDS };
  const ids = await listAggregateIds(tx.unguarded, work.tenant, work.type, page);
  advanceTypeRebuild(tx, work, ids);
  return work.tenant;
}

/**
 * Folds one stream from its newest snapshot to its head. A stream that cannot be folded is left
 * as it is. Returns the stored bytes up to which nothing is left to do, or undefined if it has
 * to be tried again.
 */
async function rebuildStream(
  tools: FoldTools,
  spec: CompiledSpec,
  { tenant, stream }: StreamRebuild,
  isStopping: () => boolean,
): Promise<number | undefined> {
  const { engine, host } = tools;
  const type = spec.aggregateTypes.get(splitStreamKey(stream).type);
  if (type === undefined || !type.cached) return Infinity;
  // Read in this order, the head is never older than the snapshot.
  const { rest } = openPieces(host);
  const place = { tenant, stream, foldHash: type.foldHash };
  const base = await loadSnapshotBytes(engine, place, { rest });
  const head = await engine.snapshot((tx) => readHead(tx, tenant, stream));
  const usable = base?.generation === head.generation ? base : undefined;
  if (head.bytes - (usable?.bytes ?? 0) < STREAM_BYTES_MIN) return head.bytes;
  const work: FoldWork = { tenant, stream, type, head, base: usable };
  let length = usable?.length ?? 0;
  for await (const folded of foldToSave(tools, work, isStopping)) {
    if (!folded.ok) return folded.refusal.kind === "modules_unavailable" ? undefined : head.bytes;
    await saveSnapshot(engine, place, folded.value, {
      rest,
      isWanted: (tx) => isCurrentFold(tx, tenant, spec),
    });
    length = folded.value.length;
  }
  return length < head.length ? undefined : head.bytes;
}

/**
 * Yields the state after every {@link SAVE_EVERY_BYTES} and at the head. Ends with the first one
 * after {@link TURN_MS_MAX}.
 */
async function* foldToSave(
  tools: FoldTools,
  work: FoldWork,
  isStopping: () => boolean,
): AsyncGenerator<Outcome<StateToSave>> {
  const { head, base } = work;
  let saved = base?.bytes ?? 0;
  const endMs = tools.host.monotonicMs() + TURN_MS_MAX;
  const options = { purpose: "rebuild", stepBytes: STEP_BYTES } as const;
  for await (const step of foldInSteps(tools, work, options)) {
    if (!step.ok) return yield step;
    if (isStopping()) return;
    const { length, bytes, stateJson, stateUtf8 } = step.value;
    const isOver = tools.host.monotonicMs() > endMs;
    if (!isOver && length < head.length && bytes - saved < SAVE_EVERY_BYTES) continue;
    const json = stateUtf8 === undefined ? stateJson() : accept(stateUtf8);
    if (!json.ok) return yield json;
    yield accept({ length, bytes, generation: head.generation, state: json.value });
    if (isOver) return;
    saved = bytes;
  }
}
