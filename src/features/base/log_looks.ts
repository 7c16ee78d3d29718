/**
 * Looks at whether the projections of an environment lack something of its commit log. A log may
 * have much that no projection reads, so what a look has searched is not searched again. Those who
 * look at the same time share one search, and each search is short.
 */

import type { Turns } from "../../domain/fairness/pieces.ts";
import { FEED_START, type LogPlace, WHOLE_RECORD } from "../../domain/feed/place.ts";
import { createRecentMap } from "../../domain/recent_map.ts";
import type { Engine, ReadTransaction } from "../../kv/engine.ts";
import { lastLogPlace } from "../../store/feed/commit_log.ts";
import {
  countInLog,
  isPositionBefore,
  type LogCount,
  type LogFinding,
  type LogPosition,
  readLogCursor,
  searchLog,
} from "../../store/feed/log_cursor.ts";
import { openWatchedTypes } from "../../store/reactions/watched_types.ts";

/** What a look saw. What it says of the log between two positions is true for ever. */
export interface LogView extends LogFinding {
  /** The aggregate types that projections read. */
  readonly types: ReadonlySet<string>;
  /** The cursor. Nothing of the types is between it and `to`. */
  readonly from: LogPosition;
  /** The newest place in the log. */
  readonly end: LogPlace | undefined;
  /** When the look began, by the monotonic clock. */
  readonly atMs: number;
}

export interface LogLooks {
  /** Looks now. Leaves the search to one that is under way. */
  look(tenant: number, turns: Turns): Promise<LogView>;
  /**
   * Whether the projections lack something of the log up to a place. Undefined if that is not known
   * yet: the next look goes on from where this one ended.
   */
  isBehind(tenant: number, question: BehindQuestion): Promise<boolean | undefined>;
  /** How many changes the projections lack, up to `max`. */
  count(tx: ReadTransaction, tenant: number, request: CountRequest): Promise<LogCount>;
}

export interface BehindQuestion {
  readonly until: LogPlace | undefined;
  /** The types at the beginning of the wait: what others saw of these is as good as a look. */
  readonly types: ReadonlySet<string>;
  /** If others have seen since then that something is lacking, that is believed. */
  readonly sinceMs: number;
  readonly turns: Turns;
}

export interface CountRequest {
  readonly max: number;
  readonly turns: Turns;
}

/** Environments whose last look is remembered. */
const KNOWN_MAX = 1_000;
const looksByEngine = new WeakMap<Engine, LogLooks>();

export function logLooksOf(engine: Engine): LogLooks {
  const known = looksByEngine.get(engine);
  if (known !== undefined) return known;
  const opened = openLogLooks(engine);
  looksByEngine.set(engine, opened);
  return opened;
}

function openLogLooks(engine: Engine): LogLooks {
  const watched = openWatchedTypes();
  const known = createRecentMap<number, LogView>(KNOWN_MAX);
  const running = new Map<number, Promise<LogView>>();

  function look(tenant: number, turns: Turns): Promise<LogView> {
    const isSearching = !running.has(tenant);
    const looking = lookAndNote(tenant, turns, isSearching);
    if (isSearching) running.set(tenant, looking);
    return looking;
  }

  async function lookAndNote(
    tenant: number,
    turns: Turns,
    isSearching: boolean,
  ): Promise<LogView> {
    const before = known.get(tenant);
    const atMs = turns.monotonicMs();
    try {
      const view = await engine.snapshot(async (tx) => {
        const [{ logged: types }, from, end] = await Promise.all([
          watched.read(tx, tenant),
          readLogCursor(tx, tenant),
          lastLogPlace(tx, tenant),
        ]);
        const found = knownFinding(before, types, from);
        const isFound = found.first !== undefined || types.size === 0 || isShown(found.to, end);
        const finding = isFound || !isSearching
          ? found
          : await searchLog(tx, tenant, found.to, { types, turns });
        return { ...finding, types, from, end, atMs };
      });
      // Only now, because a snapshot that fails may have seen what was never stored.
      if (isSearching) known.set(tenant, view);
      return view;
    } finally {
      if (isSearching) running.delete(tenant);
    }
  }

  return {
    look,
    async isBehind(tenant, { until, types, sinceMs, turns }) {
      if (until === undefined) return false;
      const last = known.get(tenant);
      if (last !== undefined && last.atMs >= sinceMs && tellsBehind(last, until)) return true;
      // Not awaited if there is none: then the look of the first who asks is there for the others.
      const under = running.get(tenant);
      if (under !== undefined) {
        // If it fails, this look fails too, or tells more.
        const other = await under.catch(() => undefined);
        if (other?.types === types) return tellsBehind(other, until);
      }
      return tellsBehind(await look(tenant, turns), until);
    },
    async count(tx, tenant, { max, turns }) {
      const { logged: types } = await watched.read(tx, tenant);
      if (types.size === 0) return { count: 0, first: undefined };
      const { to } = knownFinding(known.get(tenant), types, await readLogCursor(tx, tenant));
      return await countInLog(tx, tenant, to, { types, max, turns });
    },
  };
}

/** Whether something up to the place is lacking; undefined if the view does not tell. */
export function tellsBehind(
  { types, to, first }: LogView,
  until: LogPlace | undefined,
): boolean | undefined {
  if (types.size === 0) return false;
  if (first !== undefined) return until !== undefined && first.place <= until;
  return isShown(to, until) ? false : undefined;
}

/** What an earlier view says of the log behind the cursor. */
function knownFinding(
  before: LogView | undefined,
  types: ReadonlySet<string>,
  cursor: LogPosition,
): LogFinding {
  // Another set of types is another search, and so is one that began behind the cursor.
  if (before?.types !== types || isPositionBefore(cursor, before.from)) return { to: cursor };
  const { to, first } = before;
  if (first !== undefined && isPositionBefore(cursor, first)) {
    return { to: isPositionBefore(cursor, to) ? to : cursor, first };
  }
  return { to: isPositionBefore(cursor, to) ? to : cursor };
}

/** Whether a position is behind everything up to a place. */
function isShown(position: LogPosition, place: LogPlace = FEED_START): boolean {
  return !isPositionBefore(position, { place, done: WHOLE_RECORD });
}
