/**
 * Keeps projections up to date from the commit log. It finds the rows that show what was
 * written, computes them and writes them together with the log's cursor. So nothing is left
 * out, and work that is done twice gives the right result twice.
 */

import { mayShow, ownRowOf } from "../../domain/projection/row.ts";
import { splitStreamKey, type StreamKey } from "../../domain/identifier.ts";
import { shardOf } from "../../domain/fairness/work_share.ts";
import type { ReadTransaction } from "../../kv/engine.ts";
import type { KeptProjection, ProjectionSet } from "./projection_sets.ts";
import {
  type LogPosition,
  type LogSpan,
  moveLogCursor,
  readLogCursor,
  readLogSpan,
} from "../../store/feed/log_cursor.ts";
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
  /** Returns how many records it has processed. Stops early once `isStopping` returns true. */
  drain(limit: number, isStopping?: () => boolean): Promise<number>;
}

/** Rows of one projection that a change refreshes at once; more rows are refreshed step by step. */
const ROWS_AT_ONCE_MAX = 500;

export function createProjectionKeeper(parts: RowParts, share: WorkShare): ProjectionKeeper {
  const { engine, sets } = parts;

  async function drain(limit: number, isStopping = () => false): Promise<number> {
    const leases = await share.held("view");
    if (leases.length === 0) return 0;
    const shards = new Set(leases.map(({ shard }) => shard));
    const tenants = await engine.snapshot(listProjectionTenants);
    let done = 0;
    for (const tenant of tenants) {
      if (isStopping()) break;
      if (shards.has(shardOf("view", String(tenant)))) done += await keepTenant(tenant, limit);
    }
    return done;
  }

  async function keepTenant(tenant: number, limit: number): Promise<number> {
    const set = await sets.current(tenant);
    if (!set.isSettled) return await settleProjections(parts, set);
    if (set.records.length === 0) return await forgetProjectionTenant(parts, tenant);
    const work = await engine.snapshot((tx) => findWork(tx, set, limit));
    return work === undefined ? 0 : await keepRows(parts, set, work);
  }

  return { drain };
}

/** The next changes in the log, and the rows that show them. */
interface KeepingWork extends FoundRows {
  readonly span: LogSpan;
  /** The cursor as it was read. */
  readonly before: LogPosition;
}

/** Changes that concern no projection are skipped once there are this many records of them. */
const SKIPPED_RECORDS_MIN = 200;

/** Undefined if there is nothing to do. */
async function findWork(
  tx: ReadTransaction,
  set: ProjectionSet,
  limit: number,
): Promise<KeepingWork | undefined> {
  const before = await readLogCursor(tx, set.tenant);
  const span = await readLogSpan(tx, set.tenant, before, { types: typesOf(set), limit });
  if (span.streams.length === 0 && span.records < SKIPPED_RECORDS_MIN) return undefined;
  return { span, before, ...await findRows(tx, set, span.streams) };
}

/** The aggregate types that any version reads, also one that is no longer kept up to date. */
function typesOf({ projections, frozen }: ProjectionSet): ReadonlySet<string> {
  const types = new Set<string>();
  for (const { projection } of projections) for (const type of projection.types) types.add(type);
  for (const version of frozen) for (const type of version.types) types.add(type);
  return types;
}

/** Returns how many records were processed; 0 if the definitions have changed meanwhile. */
async function keepRows(
  parts: RowParts,
  set: ProjectionSet,
  { span, before, places, wide }: KeepingWork,
): Promise<number> {
  const { tenant } = set;
  const isDone = await refreshRows(parts, set, { places }, async (tx) => {
    if (!isSamePosition(await readLogCursor(tx, tenant), before)) return false;
    for (const { kept, stream } of wide) await addRefresh(tx, kept.place, stream);
    moveLogCursor(tx, tenant, span.end);
    for (const { place, types } of set.frozen) {
      const missed = span.streams.filter((stream) => types.has(splitStreamKey(stream).type)).length;
      if (missed > 0) addMissed(tx, place, missed);
    }
    return true;
  });
  return isDone ? Math.max(span.records, span.streams.length) : 0;
}

function isSamePosition(a: LogPosition, b: LogPosition): boolean {
  return a.place === b.place && a.done === b.done;
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

/** Finds each row once, however many of the changes it shows. */
async function findRows(
  tx: ReadTransaction,
  { projections }: ProjectionSet,
  changed: readonly StreamKey[],
): Promise<FoundRows> {
  const streams = new Set(changed);
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
