/**
 * Keeps projections up to date from the commit log. It finds the rows that show what was
 * written, computes them and writes them together with the log's cursor. So nothing is left
 * out, and work that is done twice gives the right result twice.
 */

import { mayShow, ownRowOf } from "../../domain/projection/row.ts";
import { splitStreamKey, type StreamKey } from "../../domain/identifier.ts";
import type { Pieces } from "../../domain/fairness/pieces.ts";
import { openTransactionPieces } from "../../domain/fairness/transaction_pieces.ts";
import { shardOf } from "../../domain/fairness/work_share.ts";
import type { ReadTransaction } from "../../kv/engine.ts";
import { FEED_START, type LogPlace } from "../../domain/feed/place.ts";
import { lastLogPlace } from "../../store/feed/commit_log.ts";
import { type Look, openOutlines, type Outline, typesOf } from "./outlines.ts";
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
import { openLateTurns } from "../base/late_turns.ts";
import type { WorkShare } from "../base/share_work.ts";
import { openRefresh, type Refresh, type RowParts, type RowPlace } from "./refresh_rows.ts";
import { openRounds, ROUND_MS_MAX } from "./rounds.ts";
import { forgetProjectionTenant, settleProjections } from "./settle_projections.ts";
import { TextSet } from "../../domain/lookup/text_map.ts";

export interface ProjectionKeeper {
  /** Returns how many records it has processed. Stops early once `isStopping` returns true. */
  drain(limit: number, isStopping?: () => boolean): Promise<number>;
  /** Resolves when no upkeep goes on beside the drains. */
  settle(): Promise<void>;
}

/** Rows of one projection that a change refreshes at once; more rows are refreshed step by step. */
const ROWS_AT_ONCE_MAX = 500;

export function createProjectionKeeper(parts: RowParts, share: WorkShare): ProjectionKeeper {
  const { engine, host, sets } = parts;
  const rounds = openRounds(host);
  const late = openLateTurns(host);
  const outlines = openOutlines(engine, host);
  /** Where the log ended when nothing there was to be shown. */
  const idleAt = new WeakMap<Outline, LogPlace>();

  async function drain(limit: number, isStopping = () => false): Promise<number> {
    const leases = await share.held("view");
    if (leases.length === 0) return 0;
    const shards = new Set(leases.map(({ shard }) => shard));
    const tenants = await engine.snapshot(listProjectionTenants);
    const held = tenants.filter((tenant) => shards.has(shardOf("view", String(tenant))));
    const names = new Set(held.map(String));
    rounds.dropOthers((name) => names.has(name));
    let done = late.collect();
    const idle: IdleEnds = new Map();
    const look: Look = (tx, outline, pieces) => hasChanges(tx, outline, { idle, pieces });
    const due = await outlines.findDue(held, look);
    // Only now, because a snapshot that fails may have seen what was never stored.
    for (const [outline, end] of idle) idleAt.set(outline, end);
    for (const tenant of late.inTurn(due, Number)) {
      if (isStopping()) break;
      const turn = () => rounds.guard(String(tenant), () => keepTenant(tenant, limit));
      done += await late.take(tenant, turn);
    }
    return done;
  }

  /** The same as to find work, but without the set: whether there is any. */
  async function hasChanges(
    tx: ReadTransaction,
    outline: Outline,
    { idle, pieces }: ChangesLook,
  ): Promise<boolean> {
    const { tenant, types } = outline;
    idle.delete(outline);
    const end = await lastLogPlace(tx, tenant) ?? FEED_START;
    if (idleAt.get(outline) === end) return false;
    const before = await readLogCursor(tx, tenant);
    const span = await readLogSpan(tx, tenant, before, { types, limit: 1, pieces });
    if (!isWaiting(span)) return true;
    idle.set(outline, end);
    return false;
  }

  async function keepTenant(tenant: number, limit: number): Promise<number> {
    let done = 0;
    const endMs = host.monotonicMs() + ROUND_MS_MAX;
    const state = await rounds.refresh(String(tenant), endMs, async () => {
      const set = await sets.current(tenant);
      await outlines.note(set);
      if (!set.isSettled) done = await settleProjections(parts, set);
      else if (set.records.length === 0) done = await forgetProjectionTenant(parts, tenant);
      else {
        const pieces = openTransactionPieces(host, tenant);
        const work = await engine.snapshot((tx) => findWork(tx, set, { limit, pieces }));
        if (work === undefined) return undefined;
        done = Math.max(work.span.records, work.span.streams.length);
        return keepRows(parts, set, work);
      }
      return undefined;
    });
    if (state === "refused") return 0;
    // A refresh begun in an earlier round has been counted then, but there may be more to do.
    return state === "none" ? done : Math.max(1, done);
  }

  return { drain, settle: late.settle };
}

/** Where the logs of environments end, in which nothing is to be shown. */
type IdleEnds = Map<Outline, LogPlace>;

interface ChangesLook {
  readonly idle: IdleEnds;
  readonly pieces: Pieces;
}

/** The next changes in the log, and the rows that show them. */
interface KeepingWork extends FoundRows {
  readonly span: LogSpan;
  /** The cursor as it was read. */
  readonly before: LogPosition;
}

/**
 * At the end of the log, changes that concern no projection are skipped once there are this many
 * records of them. A part of the log that has more behind it is always skipped.
 */
const SKIPPED_RECORDS_MIN = 200;

/** Whether the cursor stays where it is until there is more. */
function isWaiting({ streams, records, isAtEnd }: LogSpan): boolean {
  return streams.length === 0 && isAtEnd && records < SKIPPED_RECORDS_MIN;
}

/** Rows that are taken on together. A look for the rows of a change costs as much as some rows. */
const PLACES_MAX = 5_000;
const LOOK_PLACES = 5;

interface WorkToFind {
  readonly limit: number;
  readonly pieces: Pieces;
}

/** Undefined if there is nothing to do. */
async function findWork(
  tx: ReadTransaction,
  set: ProjectionSet,
  { limit, pieces }: WorkToFind,
): Promise<KeepingWork | undefined> {
  const before = await readLogCursor(tx, set.tenant);
  const types = typesOf(set);
  for (let some = limit;; some = Math.ceil(some / 4)) {
    const span = await readLogSpan(tx, set.tenant, before, { types, limit: some, pieces });
    if (isWaiting(span)) return undefined;
    // Fewer changes if these are shown by too many rows. One change has few enough.
    const placesMax = some === 1 ? Infinity : PLACES_MAX;
    const found = await findRows(tx, set, span.streams, { placesMax, pieces });
    if (found !== undefined) return { span, before, ...found };
  }
}

/** Refreshes the rows; refused if the definitions have changed meanwhile. */
function keepRows(
  parts: RowParts,
  set: ProjectionSet,
  { span, before, places, wide }: KeepingWork,
): Refresh {
  const { tenant } = set;
  return openRefresh(parts, set, { places }, async (tx) => {
    if (!isSamePosition(await readLogCursor(tx, tenant), before)) return false;
    for (const { kept, stream } of wide) await addRefresh(tx, kept.place, stream);
    moveLogCursor(tx, tenant, span.end);
    for (const { place, types } of set.frozen) {
      const missed = span.streams.filter((stream) => types.has(splitStreamKey(stream).type)).length;
      if (missed > 0) addMissed(tx, place, missed);
    }
    return true;
  });
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

interface RowsToFind {
  readonly placesMax: number;
  readonly pieces: Pieces;
}

/**
 * Finds each row once, however many of the changes it shows. Undefined if there are more than
 * `placesMax` rows or looks for them.
 */
async function findRows(
  tx: ReadTransaction,
  { projections }: ProjectionSet,
  changed: readonly StreamKey[],
  { placesMax, pieces }: RowsToFind,
): Promise<FoundRows | undefined> {
  const streams = new TextSet(changed);
  let looks = 0;
  const places: RowPlace[] = [];
  const wide: WideChange[] = [];
  for (const kept of projections) {
    const keys = new TextSet();
    for (const stream of streams) {
      const rest = pieces.rest();
      if (rest !== undefined) await rest;
      if (places.length + keys.size + LOOK_PLACES * looks > placesMax) return undefined;
      const { projection } = kept;
      if (!projection.types.has(splitStreamKey(stream).type)) continue;
      const own = ownRowOf(projection, stream);
      if (own !== undefined) keys.add(own);
      if (!mayShow(projection, stream)) continue;
      looks++;
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
