/**
 * Fills in the log of environments of a store made before there was a feed: each stream's events,
 * in the order of the streams. Nothing of it is read before all is there.
 */

import { FEED_START, WHOLE_RECORD } from "../../domain/feed/place.ts";
import type { Engine, Transaction } from "../../kv/engine.ts";
import { readTenantCount } from "../../store/access/instances.ts";
import { hasLogged, type LogEntry, logFilled } from "../../store/feed/commit_log.ts";
import {
  BEFORE_COMMITS,
  endFill,
  isFeedPrepared,
  listFills,
  readFill,
  readLogStart,
  setFeedPrepared,
  setFill,
} from "../../store/feed/fill.ts";
import { moveShardedLog } from "../../store/feed/sharded_log.ts";
import { moveLogCursor } from "../../store/feed/log_cursor.ts";
import { setFilling } from "../../store/reactions/watched_types.ts";
import { readHead } from "../../store/streams/streams.ts";
import { listHeads } from "../../store/streams/stream_walk.ts";

/** Entries of the older log that one transaction moves. */
const MOVED_AT_A_TIME = 500;

/**
 * Finds the environments that have to be filled in, and returns how many there are. Run it before
 * anything is written. Does nothing the second time.
 */
export async function prepareFeed(engine: Engine): Promise<number> {
  if (await engine.snapshot(isFeedPrepared)) return 0;
  const count = await engine.snapshot(readTenantCount);
  let found = 0;
  for (let tenant = 1; tenant <= count; tenant++) {
    if (!await engine.transact((tx) => beginFill(tx, tenant))) continue;
    found++;
    while (await engine.transact((tx) => moveShardedLog(tx, tenant, MOVED_AT_A_TIME)) > 0);
  }
  await engine.transact((tx) => Promise.resolve(setFeedPrepared(tx)));
  return found;
}

/** Returns whether the log of the environment has to be filled in. */
async function beginFill(tx: Transaction, tenant: number): Promise<boolean> {
  if (await readFill(tx, tenant) !== undefined) return true;
  const { heads } = await listHeads(tx, tenant, undefined);
  if (heads.length === 0 || await hasLogged(tx, tenant, FEED_START)) return false;
  moveLogCursor(tx, tenant, { place: BEFORE_COMMITS, done: WHOLE_RECORD });
  setFill(tx, tenant, { records: 0 });
  await setFilling(tx, tenant, true);
  return true;
}

/** Does one step for each environment; returns how many there are. */
export async function fillFeeds(engine: Engine, isStopping = () => false): Promise<number> {
  const tenants = await engine.snapshot(listFills);
  for (const tenant of tenants) {
    if (isStopping()) break;
    await engine.transact((tx) => fillStep(tx, tenant), { owner: tenant });
  }
  return tenants.length;
}

/** What a record holds of streams. */
const STREAMS_PER_RECORD = 100;

async function fillStep(tx: Transaction, tenant: number): Promise<void> {
  const progress = await readFill(tx, tenant);
  // Another process has finished it.
  if (progress === undefined) return;
  const page = await listHeads(tx.unguarded, tenant, progress.after);
  let { records } = progress;
  const heads = page.heads;
  for (let from = 0; from < heads.length; from += STREAMS_PER_RECORD) {
    const some = heads.slice(from, from + STREAMS_PER_RECORD);
    const entries = await Promise.all(some.map(async ({ stream }): Promise<LogEntry> => {
      // Guarded: a write that commits first has noted where the log begins.
      const [start, head] = await Promise.all([
        readLogStart(tx, tenant, stream),
        readHead(tx, tenant, stream),
      ]);
      return { kind: "appended", stream, first: 0, count: start ?? head.length };
    }));
    const filled = entries.filter((entry) => entry.kind === "appended" && entry.count > 0);
    if (filled.length > 0) logFilled(tx, tenant, ++records, filled);
  }
  // Streams that are new since then are in the log from their first event on.
  const next = await listHeads(tx.unguarded, tenant, page.last);
  if (next.last === undefined) {
    endFill(tx, tenant);
    await setFilling(tx, tenant, false);
  } else setFill(tx, tenant, { records, after: page.last });
}
