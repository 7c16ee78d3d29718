/**
 * Keeps views up to date from the log of commits: for what has been written, the rows that show it,
 * computed and written together with the cursor. So nothing is left out, and what is done twice is
 * right twice.
 */

import { ownRowOf } from "../../domain/projection/row.ts";
import { splitStreamKey, type StreamKey } from "../../domain/stream_key.ts";
import type { Bytes, ReadTransaction, Transaction } from "../../kv/engine.ts";
import { type KeptView, VIEW_READER, type ViewSet } from "../../queries/view_definitions.ts";
import { hasCommits, type LoggedCommit, readCommits, trimCommits } from "../../store/commit_log.ts";
import { type CursorName, moveCursor, readCursor } from "../../store/cursors.ts";
import { listRowsOfSource, readViewRows } from "../../store/view_rows.ts";
import { addRefresh } from "../../store/view_work.ts";
import { listViewTenants } from "../../store/projections.ts";
import type { WorkShare } from "../share_work.ts";
import { refreshRows, type RowParts, type RowPlace } from "./refresh_rows.ts";
import { forgetViewTenant, settleProjections } from "./settle_projections.ts";

export interface ViewKeeper {
  /** Gives how many commits it has worked off. Ends early once `isStopping` says so. */
  drain(limit: number, isStopping: () => boolean): Promise<number>;
}

/** Rows of one view that one change refreshes at once; more are refreshed step by step. */
const ROWS_AT_ONCE_MAX = 500;

export function createViewKeeper(parts: RowParts, share: WorkShare): ViewKeeper {
  const { engine, sets } = parts;

  async function drain(limit: number, isStopping: () => boolean): Promise<number> {
    const leases = await share.held("view");
    if (leases.length === 0) return 0;
    const tenants = await engine.snapshot(listViewTenants);
    let done = 0;
    for (const tenant of tenants) {
      if (isStopping()) break;
      done += await drainTenant(tenant, leases.map(({ shard }) => shard), limit, isStopping);
    }
    return done;
  }

  async function drainTenant(
    tenant: number,
    shards: readonly number[],
    limit: number,
    isStopping: () => boolean,
  ): Promise<number> {
    const set = await sets.current(tenant);
    if (!set.isSettled) return await settleProjections(parts, set);
    if (!await engine.snapshot((tx) => hasCommits(tx, tenant))) {
      return set.records.length > 0 ? 0 : await forgetViewTenant(parts, tenant);
    }
    let done = 0;
    for (const shard of shards) {
      if (isStopping()) break;
      const count = await keepShard(parts, set, shard, limit);
      if (count === undefined) break;
      done += count;
    }
    return done;
  }

  return { drain };
}

/** Undefined: the definitions have changed meanwhile. */
async function keepShard(
  parts: RowParts,
  set: ViewSet,
  shard: number,
  limit: number,
): Promise<number | undefined> {
  const cursor: CursorName = { tenant: set.tenant, consumer: VIEW_READER, shard };
  const { before, commits } = await parts.engine.snapshot(async (tx) => {
    const before = await readCursor(tx, cursor);
    return { before, commits: await readCommits(tx, set.tenant, shard, before, limit) };
  });
  const last = commits.at(-1);
  if (last === undefined) return 0;
  const { places, wide } = await parts.engine.snapshot((tx) => findRows(tx, set, commits));
  const isDone = await refreshRows(parts, set, places, async (tx) => {
    if (!isSamePlace(await readCursor(tx, cursor), before)) return false;
    for (const { view, stream } of wide) await addRefresh(tx, view.place, stream);
    endCommits(tx, cursor, last.position);
    return true;
  });
  return isDone ? commits.length : undefined;
}

/** Views are the one reader of the log: what they have done goes. */
function endCommits(tx: Transaction, cursor: CursorName, position: Bytes): void {
  moveCursor(tx, cursor, position);
  trimCommits(tx, cursor.tenant, cursor.shard, position);
}

function isSamePlace(a: Bytes | undefined, b: Bytes | undefined): boolean {
  return a?.toHex() === b?.toHex();
}

/** A stream that many rows of a view show. */
interface WideChange {
  readonly view: KeptView;
  readonly stream: StreamKey;
}

/** Each row once, however many of the commits it shows. */
async function findRows(
  tx: ReadTransaction,
  { views }: ViewSet,
  commits: readonly LoggedCommit[],
): Promise<{ readonly places: readonly RowPlace[]; readonly wide: readonly WideChange[] }> {
  const streams = new Set(commits.map(({ stream }) => stream));
  const places: RowPlace[] = [];
  const wide: WideChange[] = [];
  for (const view of views) {
    const keys = new Set<string>();
    for (const stream of streams) {
      const { projection } = view;
      if (!projection.types.has(splitStreamKey(stream).type)) continue;
      const own = ownRowOf(projection, stream);
      if (own !== undefined) keys.add(own);
      const shown = await rowsShowing(tx, view, stream);
      if (shown === undefined) wide.push({ view, stream });
      else for (const key of shown) keys.add(key);
    }
    for (const key of keys) places.push({ view, key });
  }
  return { places, wide };
}

/** Undefined: more than are refreshed at once. */
async function rowsShowing(
  tx: ReadTransaction,
  { place, projection }: KeptView,
  stream: StreamKey,
): Promise<readonly string[] | undefined> {
  const page = { limit: ROWS_AT_ONCE_MAX + 1 };
  const keys = projection.includes.has(stream)
    ? (await readViewRows(tx, place, page)).map(({ key }) => key)
    : await listRowsOfSource(tx, place, stream, page);
  return keys.length > ROWS_AT_ONCE_MAX ? undefined : keys;
}
