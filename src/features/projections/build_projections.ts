/**
 * Does the work on single versions of projections, in short steps that let other work run. It
 * builds a version next to the one that is read, refreshes the many rows that one change may
 * touch, retries rows that failed, and removes what is no longer read. See
 * docs/reference/projections.md.
 */

import { hasRow } from "../../domain/projection/row.ts";
import type { Pieces } from "../../domain/fairness/pieces.ts";
import { createRecentMap } from "../../domain/recent_map.ts";
import { shardOf } from "../../domain/fairness/work_share.ts";
import type { KeptProjection, ProjectionSet } from "./projection_sets.ts";
import { listAggregateIds } from "../../store/streams/aggregates.ts";
import {
  clearProjection,
  listProjectionTenants,
  type ProjectionRecord,
  readProjection,
  setProjection,
} from "../../store/projections/projections.ts";
import {
  listRowsOfSource,
  readProjectionRowKeys,
} from "../../store/projections/projection_rows.ts";
import {
  type BuildProgress,
  clearRetry,
  hasDueWork,
  listRefreshes,
  listRetries,
  moveRefresh,
  readBuild,
  setBuild,
} from "../../store/projections/projection_work.ts";
import { openLateTurns } from "../base/late_turns.ts";
import type { WorkShare } from "../base/share_work.ts";
import { type Look, openOutlines, type Outline } from "./outlines.ts";
import { createVersionSwitch } from "./switch_version.ts";
import { openRefresh, type Refresh, type RowParts } from "./refresh_rows.ts";
import { openRounds, ROUND_MS_MAX } from "./rounds.ts";
import { limits } from "../../domain/limits.ts";
import type { ProjectionPlace } from "../../domain/projection/ready_projection.ts";
import type { KeyRange, ReadTransaction, Transaction } from "../../kv/engine.ts";
import { keyAfter, keys } from "../../store/keys.ts";
import { clearLargeValue, isInPieces } from "../../store/large_value.ts";
import {
  changesRange,
  hasChangesBefore,
  trimRowChanges,
} from "../../store/projections/row_changes.ts";

export interface ProjectionBuilder {
  /** Does one step of each kind of work that is due. Returns how much was done. */
  drain(isStopping?: () => boolean): Promise<number>;
  /** Resolves when no step goes on beside the drains. */
  settle(): Promise<void>;
}

interface VersionToBuild {
  readonly record: ProjectionRecord;
  readonly kept: KeptProjection;
  readonly endMs: number;
}

interface WorkLook {
  readonly isHeld: (name: string) => boolean;
  readonly pieces: Pieces;
}

/** Environments whose turns among their projections are remembered. */
const TURNS_MAX = 10_000;
/** Ids or rows that one step looks at. */
const STEP_ROWS = 512;

export function createProjectionBuilder(parts: RowParts, share: WorkShare): ProjectionBuilder {
  const { engine, host, sets } = parts;
  const versions = createVersionSwitch(parts);
  const rounds = openRounds(host);
  const late = openLateTurns(host);
  const outlines = openOutlines(engine, host);
  /** By environment: the projection that its next round begins with. */
  const turns = createRecentMap<number, number>(TURNS_MAX);

  async function drain(isStopping = () => false): Promise<number> {
    const leases = await share.held("view");
    const shards = new Set(leases.map(({ shard }) => shard));
    if (shards.size === 0) return 0;
    const isHeld = (name: string) => shards.has(shardOf("view", name));
    const tenants = await engine.snapshot(listProjectionTenants);
    const kept = new Set(tenants);
    rounds.dropOthers((name) => {
      const [tenant, number] = name.split("/");
      return kept.has(Number(tenant)) && isHeld(`${tenant}/${number}`);
    });
    let done = late.collect();
    const look: Look = (tx, outline, pieces) => hasWork(tx, outline, { isHeld, pieces });
    const due = await outlines.findDue(tenants, look);
    for (const tenant of late.inTurn(due, Number)) {
      if (isStopping()) return done;
      const turn = () => rounds.guard(String(tenant), () => serve(tenant, isHeld, isStopping));
      done += await late.take(tenant, turn);
    }
    return done;
  }

  /** Whether a round of the environment has anything to do, without its set. */
  async function hasWork(
    tx: ReadTransaction,
    { tenant, versions }: Outline,
    { isHeld, pieces }: WorkLook,
  ): Promise<boolean> {
    const nowMs = host.nowMs();
    for (const { place, isReady } of versions) {
      if (!isHeld(`${tenant}/${place.number}`)) continue;
      const rest = pieces.rest();
      if (rest !== undefined) await rest;
      if (!isReady || await hasDueWork(tx, place, nowMs)) return true;
      if (await hasChangesBefore(tx, place, trimmedUntil(nowMs))) return true;
    }
    return false;
  }

  /** One round of an environment. The next one begins behind the last projection served. */
  async function serve(
    tenant: number,
    isHeld: (name: string) => boolean,
    isStopping: () => boolean,
  ): Promise<number> {
    const set = await sets.current(tenant);
    await outlines.note(set);
    // Settling is left to the worker that keeps projections up to date.
    if (!set.isSettled) return 0;
    const from = turns.get(tenant) ?? 0;
    const records = set.records.filter(({ number }) => isHeld(`${tenant}/${number}`))
      .sort((a, b) => a.number - b.number);
    const inTurn = [
      ...records.filter(({ number }) => number >= from),
      ...records.filter(({ number }) => number < from),
    ];
    const endMs = host.monotonicMs() + ROUND_MS_MAX;
    let done = 0;
    for (const record of inTurn) {
      turns.set(tenant, record.number);
      if (isStopping()) return done;
      if (host.monotonicMs() >= endMs) return Math.max(1, done);
      const name = `${tenant}/${record.number}`;
      done += await rounds.guard(name, () => workOn(set, record, endMs));
    }
    turns.delete(tenant);
    return done;
  }

  async function workOn(
    set: ProjectionSet,
    record: ProjectionRecord,
    endMs: number,
  ): Promise<number> {
    let done = await removeVersions(parts, set.tenant, record);
    for (const kept of set.projections.filter(({ place }) => place.number === record.number)) {
      done += await goOn("retry", kept, endMs, () => retryRows(parts, set, kept));
      done += await goOn("refresh", kept, endMs, () => refreshSome(parts, set, kept));
      done += kept.isReady
        ? await trimChanges(parts, kept.place)
        : await build(set, { record, kept, endMs });
      await host.yieldTurn();
    }
    return done;
  }

  async function goOn(
    kind: string,
    { place: { tenant, number, version } }: KeptProjection,
    endMs: number,
    begin: () => Promise<Refresh | undefined>,
  ): Promise<number> {
    const name = `${tenant}/${number}/${version}/${kind}`;
    return await rounds.refresh(name, endMs, begin) === "none" ? 0 : 1;
  }

  async function build(
    set: ProjectionSet,
    { record, kept, endMs }: VersionToBuild,
  ): Promise<number> {
    const progress = await engine.snapshot((tx) => readBuild(tx, kept.place));
    if (progress === undefined || (progress.notBeforeMs ?? 0) > host.nowMs()) return 0;
    if (progress.isWhole) return await versions.tryToSwitch(set, { record, kept, progress, endMs });
    return await goOn("build", kept, endMs, () => buildSome(parts, set, kept, progress));
  }

  return { drain, settle: late.settle };
}

/** Writes the rows of the next ids, and advances the build together with the last of them. */
async function buildSome(
  parts: RowParts,
  set: ProjectionSet,
  kept: KeptProjection,
  progress: BuildProgress,
): Promise<Refresh> {
  const { place, projection } = kept;
  const page = { start: progress.after, limit: STEP_ROWS };
  const ids = await parts.engine.snapshot((tx) =>
    listAggregateIds(tx, place.tenant, projection.forEach, page)
  );
  const keys = ids.filter((id) => hasRow(projection, id));
  const places = keys.map((key) => ({ kept, key }));
  return openRefresh(parts, set, { places, isBuild: true }, async (tx) => {
    const now = await readBuild(tx, place);
    if (now === undefined || now.after !== progress.after || now.isWhole) return false;
    const isWhole = ids.length < STEP_ROWS;
    setBuild(tx, place, {
      ...now,
      isWhole,
      rows: now.rows + keys.length,
      after: ids.at(-1) ?? now.after,
    });
    return true;
  });
}

/** Takes the next step of the walk over the rows that show a stream which has grown. */
async function refreshSome(
  parts: RowParts,
  set: ProjectionSet,
  kept: KeptProjection,
): Promise<Refresh | undefined> {
  const { place, projection } = kept;
  const found = await parts.engine.snapshot(async (tx) => {
    const [work] = await listRefreshes(tx, place, 1);
    if (work === undefined) return undefined;
    const page = { after: work.after, limit: STEP_ROWS };
    const keys = projection.includes.has(work.stream)
      ? await readProjectionRowKeys(tx, place, page)
      : await listRowsOfSource(tx, place, work.stream, page);
    return { work, keys };
  });
  if (found === undefined) return undefined;
  const { work, keys } = found;
  const last = keys.length < STEP_ROWS ? undefined : keys.at(-1);
  const places = keys.map((key) => ({ kept, key }));
  return openRefresh(parts, set, { places }, (tx) => moveRefresh(tx, place, work, last));
}

async function retryRows(
  parts: RowParts,
  set: ProjectionSet,
  kept: KeptProjection,
): Promise<Refresh | undefined> {
  const { engine, host } = parts;
  const waiting = await engine.snapshot((tx) => listRetries(tx, kept.place, STEP_ROWS));
  const nowMs = host.nowMs();
  const due = waiting.filter(({ dueMs }) => dueMs <= nowMs);
  if (due.length === 0) return undefined;
  const places = due.map(({ row: key }) => ({ kept, key }));
  return openRefresh(parts, set, { places }, (tx) => {
    for (const retry of due) clearRetry(tx, kept.place, retry);
    return Promise.resolve(true);
  });
}

/** Keys that one step removes, and the bytes of rows it reads to do so. */
const STEP_KEYS = 500;
const STEP_BYTES = 1024 * 1024;
const MS_PER_SECOND = 1000;

/** Does one step of removing old versions. Returns how much was done. */
async function removeVersions(
  { engine }: RowParts,
  tenant: number,
  { name, number, removing, isDeleted }: ProjectionRecord,
): Promise<number> {
  const version = removing[0];
  if (version === undefined && !isDeleted) return 0;
  return await engine.transact(async (tx) => {
    if (version !== undefined) {
      const removed = await removeSome(tx, { tenant, number, version });
      if (removed > 0) return removed;
    }
    const record = await readProjection(tx, tenant, name);
    if (record === undefined) return 0;
    const left = record.removing.filter((each) => each !== version);
    if (record.isDeleted && left.length === 0) clearProjection(tx, tenant, name);
    else if (left.length < record.removing.length) {
      setProjection(tx, tenant, { ...record, removing: left });
    }
    return 1;
  });
}

/**
 * Nobody writes to a version that is being removed, because every writer checks the
 * definitions.
 */
async function removeSome(tx: Transaction, place: ProjectionPlace): Promise<number> {
  const { tenant, number, version } = place;
  const ranges: readonly KeyRange[] = [
    keys.projectionRows(tenant, number, version),
    keys.projectionSources(tenant, number, version),
    changesRange(place),
    keys.projectionWorks(tenant, number, version),
  ];
  for (const range of ranges) {
    const options = { limit: STEP_KEYS, bytesMax: STEP_BYTES };
    const pairs = await tx.unguarded.getRange(range, options);
    const last = pairs.at(-1);
    if (last === undefined) continue;
    for (const { key, value } of pairs) {
      if (isInPieces(value)) clearLargeValue(tx, tenant, key);
    }
    tx.clearRange({ begin: range.begin, end: keyAfter(last.key) });
    return pairs.length;
  }
  return 0;
}

function trimmedUntil(nowMs: number): number {
  return nowMs - limits.rowChangesSeconds * MS_PER_SECOND;
}

/** Removes changes that every node has seen long ago. Returns how many. */
async function trimChanges({ engine, host }: RowParts, place: ProjectionPlace): Promise<number> {
  const untilMs = trimmedUntil(host.nowMs());
  const isDue = await engine.snapshot((tx) => hasChangesBefore(tx, place, untilMs));
  if (!isDue) return 0;
  return await engine.transact((tx) => trimRowChanges(tx, place, untilMs, STEP_KEYS));
}
