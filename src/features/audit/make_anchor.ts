/**
 * Makes anchors: a cut, the tree at the cut, a signature, and one transaction that publishes
 * all. A process that dies on the way leaves a cut from which the next one continues. See
 * docs/reference/audit.md.
 */

import { type InstanceAnchor, signInstanceAnchor } from "../../domain/audit/anchor.ts";
import { assert } from "../../domain/assert.ts";
import type { Tenant } from "../../domain/tenant.ts";
import { formatUuid } from "../../domain/uuid.ts";
import type { Host } from "../../host.ts";
import type { Engine, Transaction } from "../../kv/engine.ts";
import { listStreams } from "../../store/streams/aggregates.ts";
import {
  clearChanges,
  listChanged,
  readEpoch,
  readRewrites,
  setEpoch,
} from "../../store/streams/audit_cuts.ts";
import {
  type AnchorBuild,
  type AnchorState,
  type NumberedAnchor,
  readAnchor,
  readAnchorState,
  readBlocks,
  setAnchorState,
  storeAnchor,
} from "../../store/audit/anchors.ts";
import { readTenantNumber } from "../../store/access/instances.ts";
import { readCurrentSigningKey } from "../../store/audit/signing_keys.ts";
import { StreamRewritten } from "../../store/streams/stream_events.ts";
import { publishChunk } from "../../store/audit/tree_chunks.ts";
import { buildFirstTree, buildTree, type BuiltTree } from "./build_tree.ts";
import { collectChanges, collectStreams, extendTiles, type LongStream } from "./collect_changes.ts";
import { createPace, type Pace } from "./pace.ts";
import { openTreeMemories, type TreeMemories } from "./tree_memory.ts";

export interface AnchorMade {
  /** False if nothing has changed since the newest anchor. */
  readonly isNew: boolean;
  /** The anchor is of a cut left by a process that died; later writes are not covered. */
  readonly isOfOldCut: boolean;
  /** The newest anchor; undefined in an environment without events. */
  readonly anchor: InstanceAnchor | undefined;
}

export interface AnchorMaker {
  /** Anchors of one environment are made one after the other. */
  make(tenant: Tenant): Promise<AnchorMade>;
}

export interface AnchorWork {
  readonly engine: Engine;
  readonly host: Host;
  /** Counts what this process does for requests; anchors leave them most of the time. */
  readonly done: () => number;
}

/**
 * Attempts, each with a new cut, while streams keep being rewritten; then the next interval
 * tries.
 */
const TRIES_MAX = 5;
/** A process that has not been seen at work for this long is not waited for. */
const SILENT_MS = 15_000;
/** Marks that one transaction clears. */
const CLEARED_MAX = 1_000;
const WAIT_MS = 200;
const WAITS_MAX = 300;

/** Another process has taken over the cut. */
class BuildOvertaken extends Error {
  override readonly name = "BuildOvertaken";
}

/** No tree of a single moment could be made, so no anchor was signed. */
export class AnchorInterrupted extends Error {
  override readonly name = "AnchorInterrupted";
}

export function createAnchorMaker(work: AnchorWork): AnchorMaker {
  const running = new Map<number, Promise<AnchorMade>>();
  const memories = openTreeMemories();

  function make(tenant: Tenant): Promise<AnchorMade> {
    const before = running.get(tenant.number) ?? Promise.resolve();
    const made = before.catch(() => {}).then(() => makeAnchor(work, memories, tenant));
    running.set(tenant.number, made);
    const forget = () => {
      if (running.get(tenant.number) === made) running.delete(tenant.number);
    };
    made.then(forget, forget);
    return made;
  }
  return { make };
}

async function makeAnchor(
  work: AnchorWork,
  memories: TreeMemories,
  tenant: Tenant,
): Promise<AnchorMade> {
  const { engine, host } = work;
  const number = await engine.snapshot((tx) => readTenantNumber(tx, tenant));
  const place = { ...tenant, number };
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const attempt = host.randomBytes(16).toHex();
    const begun = await beginBuild(work, place, attempt);
    if (begun === undefined) {
      const newest = await engine.snapshot((tx) => readAnchor(tx, number));
      return { isNew: false, isOfOldCut: false, anchor: newest?.anchor };
    }
    try {
      const { building, isOfOldCut } = begun;
      const anchor = await finishBuild(work, memories, place, building);
      if (anchor !== undefined) return { isNew: true, isOfOldCut, anchor };
    } catch (error) {
      // The cut is void, as it is if the rewrite is only noticed at the end.
      if (error instanceof StreamRewritten) await giveUpCut(engine, number, begun.building);
      else if (!(error instanceof BuildOvertaken)) throw error;
    }
  }
  throw new AnchorInterrupted("The streams were rewritten or taken over again and again");
}

interface Begun {
  readonly building: AnchorBuild;
  readonly isOfOldCut: boolean;
}

/**
 * Returns a cut to make an anchor of: one left behind or a fresh one. Undefined if nothing is
 * new.
 */
async function beginBuild(
  { engine, host }: AnchorWork,
  { number: tenant }: Tenant,
  attempt: string,
): Promise<Begun | undefined> {
  for (let waits = 0;; waits++) {
    const nowMs = host.nowMs();
    const begun = await engine.transact(async (tx) => {
      const state = await readAnchorState(tx, tenant);
      const left = state.building;
      if (left !== undefined) {
        // If others share the store, one recently seen at work on the cut is waited for.
        const { isShared } = engine.capabilities;
        const isBusy = isShared && Math.abs(nowMs - left.seen_ms) < SILENT_MS;
        if (isBusy && waits < WAITS_MAX) return "busy" as const;
      } else if (!await hasNews(tx, tenant, state)) return undefined;
      const building = left === undefined
        ? await cut(tx, tenant, attempt, nowMs)
        : { ...left, attempt, seen_ms: nowMs };
      setAnchorState(tx, tenant, { ...state, building });
      return { building, isOfOldCut: left !== undefined };
    });
    if (begun !== "busy") return begun;
    await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
  }
}

async function hasNews(
  tx: Transaction,
  tenant: number,
  { newest, covered }: AnchorState,
): Promise<boolean> {
  // Unguarded: what arrives meanwhile belongs to the next cut.
  if (newest === 0) return (await listStreams(tx.unguarded, tenant, { limit: 1 })).length > 0;
  const epoch = await readEpoch(tx, tenant);
  const { changed } = await listChanged(tx.unguarded, tenant, epoch, { covered, limit: 1 });
  return changed.length > 0;
}

/** Gives up a cut after a rewrite. Its change marks stay, for the next cut. */
async function giveUpCut(engine: Engine, tenant: number, building: AnchorBuild): Promise<void> {
  await engine.transact(async (tx) => {
    const state = await readAnchorState(tx, tenant);
    if (state.building?.attempt !== building.attempt) return;
    setAnchorState(tx, tenant, { ...state, building: undefined });
  });
}

/** Ends the epoch: every write that commits later belongs to the next one. */
async function cut(
  tx: Transaction,
  tenant: number,
  attempt: string,
  nowMs: number,
): Promise<AnchorBuild> {
  const epoch = await readEpoch(tx, tenant);
  const rewrites = await readRewrites(tx, tenant);
  setEpoch(tx, tenant, epoch + 1);
  const created_at = new Date(nowMs).toISOString();
  return { cut: epoch, rewrites, created_at, attempt, seen_ms: nowMs };
}

/** Undefined if a stream was rewritten since the cut, which makes the cut void. */
async function finishBuild(
  work: AnchorWork,
  memories: TreeMemories,
  tenant: Tenant,
  building: AnchorBuild,
): Promise<InstanceAnchor | undefined> {
  const { engine } = work;
  const newest = await engine.snapshot((tx) => readAnchor(tx, tenant.number));
  const tree = await growTree(work, {
    memories,
    tenant: tenant.number,
    building,
    newest: newest?.number,
  });
  const number = (newest?.number ?? 0) + 1;
  const anchor = await sign(work, { tenant, building, before: newest?.anchor, tree });
  const isPublished = await engine.transact((tx) =>
    publish(tx, tenant.number, { building, made: { number, anchor }, tree })
  );
  if (!isPublished) return undefined;
  memories.keep(tenant.number, tree.memory);
  return anchor;
}

/**
 * Clears the marks that the newest anchor has left of the changes it covers, page by page. That is
 * done before the next anchor, because the work on an anchor ends with its publication.
 */
async function clearCovered({ engine, pace, tenant }: Place, covered: number): Promise<void> {
  const clear = (tx: Transaction) => clearChanges(tx, tenant, covered, CLEARED_MAX);
  const { changed } = await engine.snapshot((tx) => listChanged(tx, tenant, covered, { limit: 1 }));
  if (changed.length === 0) return;
  while (await engine.transact(clear)) await pace();
}

interface Place {
  readonly engine: Engine;
  readonly pace: Pace;
  readonly tenant: number;
}

interface TreeGrowth {
  readonly memories: TreeMemories;
  readonly tenant: number;
  readonly building: AnchorBuild;
  readonly newest?: number;
}

/** The tree as of the cut, grown from that of the newest anchor if there is one. */
async function growTree(
  { engine, host, done }: AnchorWork,
  { memories, tenant, building, newest = 0 }: TreeGrowth,
): Promise<BuiltTree> {
  const place = { engine, pace: createPace(host, done), tenant };
  const guard = (tx: Transaction) => requireBuild(tx, host, tenant, building);
  const build = { ...place, number: newest + 1, guard };
  const { cut } = building;
  // Tiles must come before publishing: from then on it is forgotten which streams have changed.
  const extend = async (long: readonly LongStream[]) => {
    for (const stream of long) await extendTiles(place, stream);
  };
  if (newest === 0) {
    const long: LongStream[] = [];
    const tree = await buildFirstTree(build, collectStreams({ ...place, cut }, long));
    await extend(long);
    return tree;
  }
  const memory = memories.take(tenant, newest);
  const { covered } = await engine.snapshot((tx) => readAnchorState(tx, tenant));
  if (covered !== undefined) await clearCovered(place, covered);
  const { changes, long } = await collectChanges({ ...place, cut, covered });
  await extend(long);
  const blocks = await engine.snapshot((tx) => readBlocks(tx, tenant, newest));
  return await buildTree({ ...build, blocks, changes, memory });
}

/** @throws {BuildOvertaken} if another process works on the cut or has published it. */
async function requireBuild(
  tx: Transaction,
  host: Host,
  tenant: number,
  building: AnchorBuild,
): Promise<void> {
  const state = await readAnchorState(tx, tenant);
  if (state.building?.attempt !== building.attempt) {
    throw new BuildOvertaken("Another process makes this anchor");
  }
  setAnchorState(tx, tenant, { ...state, building: { ...building, seen_ms: host.nowMs() } });
}

interface AnchorToSign {
  readonly tenant: Tenant;
  readonly building: AnchorBuild;
  readonly before: InstanceAnchor | undefined;
  readonly tree: BuiltTree;
}

async function sign(
  { engine, host }: AnchorWork,
  { tenant, building, before, tree: { root, newEvents, newStreams } }: AnchorToSign,
): Promise<InstanceAnchor> {
  const key = await engine.snapshot((tx) => readCurrentSigningKey(tx, tenant.instanceId));
  assert(key !== undefined, "every instance has a signing key");
  const fields = {
    instance_id: tenant.instanceId,
    environment: tenant.environment,
    merkle_root: root,
    event_count: (before?.event_count ?? 0) + newEvents,
    stream_count: (before?.stream_count ?? 0) + newStreams,
    created_at: building.created_at,
  };
  return await signInstanceAnchor(`anc_${formatUuid(host.randomBytes(16))}`, fields, key);
}

interface AnchorToPublish {
  readonly building: AnchorBuild;
  readonly made: NumberedAnchor;
  readonly tree: BuiltTree;
}

/** Returns false and gives up the cut if a stream was rewritten since. */
async function publish(
  tx: Transaction,
  tenant: number,
  { building, made, tree }: AnchorToPublish,
): Promise<boolean> {
  const state = await readAnchorState(tx, tenant);
  if (state.building?.attempt !== building.attempt) {
    throw new BuildOvertaken("Another process makes this anchor");
  }
  if (await readRewrites(tx, tenant) !== building.rewrites) {
    setAnchorState(tx, tenant, { ...state, building: undefined });
    return false;
  }
  assert(made.number === state.newest + 1, "anchors are numbered without gaps");
  storeAnchor(tx, tenant, made, tree.blocks);
  for (const low of tree.newChunks) publishChunk(tx, tenant, low, made.number);
  // Few marks are cleared at once; the rest of many before the next anchor.
  const isMore = await clearChanges(tx, tenant, building.cut, CLEARED_MAX);
  const covered = isMore ? building.cut : undefined;
  setAnchorState(tx, tenant, { newest: made.number, covered });
  return true;
}
