/**
 * Keeps projections up to date from the commit log. It finds the rows that show what was
 * written, computes them and writes them together with the log's cursor. So nothing is left
 * out, and work that is done twice gives the right result twice.
 */

import { Buffer } from "node:buffer";
import { mayShow, ownRowOf } from "../../domain/projection/row.ts";
import { splitStreamKey, type StreamKey } from "../../domain/stream_key.ts";
import { COMMIT_LOG_SHARDS } from "../../domain/fairness/work_share.ts";
import type { Bytes, ReadTransaction } from "../../kv/engine.ts";
import { type KeptProjection, PROJECTION_READER, type ProjectionSet } from "./projection_sets.ts";
import {
  hasCommits,
  type LoggedCommit,
  readShards,
  removeCommits,
} from "../../store/commit_log.ts";
import { type CursorName, moveCursor, readCursor } from "../../store/cursors.ts";
import {
  listRowsOfSource,
  readProjectionRowKeys,
} from "../../store/projections/projection_rows.ts";
import { addMissed, addRefresh } from "../../store/projections/projection_work.ts";
import { listProjectionTenants } from "../../store/projections/projections.ts";
import type { WorkShare } from "../base/share_work.ts";
import { refreshRows, type RowParts, type RowPlace } from "./refresh_rows.ts";
import { forgetProjectionTenant, settleProjections } from "./settle_projections.ts";

export interface ProjectionKeeper {
  /** Returns how many commits it has processed. Stops early once `isStopping` returns true. */
  drain(limit: number, isStopping?: () => boolean): Promise<number>;
}

/** Rows of one projection that a change refreshes at once; more rows are refreshed step by step. */
const ROWS_AT_ONCE_MAX = 500;

export function createProjectionKeeper(parts: RowParts, share: WorkShare): ProjectionKeeper {
  const { engine, sets } = parts;
  /**
   * The shard of the log with which the next round begins; it rotates, so that no shard has to
   * wait for all those before it.
   */
  let firstShard = 0;

  async function drain(limit: number, isStopping = () => false): Promise<number> {
    const leases = await share.held("view");
    if (leases.length === 0) return 0;
    const shards = leases.map(({ shard }) => shard);
    const tenants = await engine.snapshot(listProjectionTenants);
    let done = 0;
    for (const tenant of tenants) {
      if (isStopping()) break;
      done += await keepTenant(tenant, shards, limit);
    }
    firstShard = (firstShard + 1) % COMMIT_LOG_SHARDS;
    return done;
  }

  async function keepTenant(
    tenant: number,
    shards: readonly number[],
    limit: number,
  ): Promise<number> {
    const set = await sets.current(tenant);
    if (!set.isSettled) return await settleProjections(parts, set);
    const work = await engine.snapshot((tx) => findWork(tx, set, spansOf(shards), limit));
    if (work !== undefined) return await keepRows(parts, set, work);
    if (set.records.length > 0 || await engine.snapshot((tx) => hasCommits(tx, tenant))) return 0;
    return await forgetProjectionTenant(parts, tenant);
  }

  /** The held shards of the log as spans, in the order of this round. */
  function spansOf(shards: readonly number[]): ShardSpan[] {
    const spans: ShardSpan[] = [];
    for (let shard = 0; shard < COMMIT_LOG_SHARDS; shard++) {
      if (!shards.includes(shard)) continue;
      const last = spans.at(-1);
      if (last?.end === shard && shard !== firstShard) last.end++;
      else spans.push({ shard, end: shard + 1 });
    }
    const first = spans.findIndex(({ end }) => end > firstShard);
    return first <= 0 ? spans : [...spans.slice(first), ...spans.slice(0, first)];
  }

  return { drain };
}

/** Shards from `shard` up to but not including `end`. */
interface ShardSpan {
  readonly shard: number;
  end: number;
}

/** The next commits of the log, and the rows that show them. */
interface KeepingWork extends FoundRows {
  readonly commits: readonly LoggedCommit[];
  /** By shard: its cursor as it was read. */
  readonly cursors: ReadonlyMap<number, Bytes | undefined>;
}

/** Undefined if there is nothing to do. */
async function findWork(
  tx: ReadTransaction,
  set: ProjectionSet,
  spans: readonly ShardSpan[],
  limit: number,
): Promise<KeepingWork | undefined> {
  const commits: LoggedCommit[] = [];
  for (const span of spans) {
    if (commits.length === limit) break;
    // Processed commits are removed, so the log begins right after the cursors.
    commits.push(...await readShards(tx, set.tenant, span, limit - commits.length));
  }
  if (commits.length === 0) return undefined;
  const cursors = new Map<number, Bytes | undefined>();
  for (const shard of new Set(commits.map(({ shard }) => shard))) {
    cursors.set(shard, await readCursor(tx, cursorOf(set, shard)));
  }
  return { commits, cursors, ...await findRows(tx, set, commits) };
}

/** Returns how many commits were processed; 0 if the definitions have changed meanwhile. */
async function keepRows(
  parts: RowParts,
  set: ProjectionSet,
  { commits, cursors, places, wide }: KeepingWork,
): Promise<number> {
  const isDone = await refreshRows(parts, set, { places }, async (tx) => {
    for (const [shard, before] of cursors) {
      if (!isSamePlace(await readCursor(tx, cursorOf(set, shard)), before)) return false;
    }
    for (const { kept, stream } of wide) await addRefresh(tx, kept.place, stream);
    const ends = new Map(commits.map(({ shard, position }) => [shard, position]));
    for (const [shard, position] of ends) moveCursor(tx, cursorOf(set, shard), position);
    for (const { place, types } of set.frozen) {
      const missed = commits.filter(({ stream }) => types.has(splitStreamKey(stream).type)).length;
      if (missed > 0) addMissed(tx, place, missed);
    }
    // Projections are the only reader of the log, so processed commits are removed.
    removeCommits(tx, set.tenant, commits);
    return true;
  });
  return isDone ? commits.length : 0;
}

function cursorOf({ tenant }: ProjectionSet, shard: number): CursorName {
  return { tenant, consumer: PROJECTION_READER, shard };
}

function isSamePlace(a: Bytes | undefined, b: Bytes | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && Buffer.compare(a, b) === 0);
}

interface FoundRows {
  readonly places: readonly RowPlace[];
  readonly wide: readonly WideChange[];
}

/** A stream that many rows of a projection show. */
interface WideChange {
  readonly kept: KeptProjection;
  readonly stream: StreamKey;
}

/** Finds each row once, however many of the commits it shows. */
async function findRows(
  tx: ReadTransaction,
  { projections }: ProjectionSet,
  commits: readonly LoggedCommit[],
): Promise<FoundRows> {
  const streams = new Set(commits.map(({ stream }) => stream));
  const places: RowPlace[] = [];
  const wide: WideChange[] = [];
  for (const kept of projections) {
    const keys = new Set<string>();
    for (const stream of streams) {
      const { projection } = kept;
      if (!projection.types.has(splitStreamKey(stream).type)) continue;
      const own = ownRowOf(projection, stream);
      if (own !== undefined) keys.add(own);
      if (!mayShow(projection, stream)) continue;
      const shown = await rowsShowing(tx, kept, stream);
      if (shown === undefined) wide.push({ kept, stream });
      else for (const key of shown) keys.add(key);
    }
    for (const key of keys) places.push({ kept, key });
  }
  return { places, wide };
}

/** Undefined if there are more rows than are refreshed at once. */
async function rowsShowing(
  tx: ReadTransaction,
  { place, projection }: KeptProjection,
  stream: StreamKey,
): Promise<readonly string[] | undefined> {
  const page = { limit: ROWS_AT_ONCE_MAX + 1 };
  const keys = projection.includes.has(stream)
    ? await readProjectionRowKeys(tx, place, page)
    : await listRowsOfSource(tx, place, stream, page);
  return keys.length > ROWS_AT_ONCE_MAX ? undefined : keys;
}
