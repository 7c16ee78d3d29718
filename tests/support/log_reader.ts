/**
 * A reader of the commit log as a real one would be. In one transaction it counts each event
 * that the log names and moves its cursor.
 */

import { type StreamKey, streamKey } from "../../src/domain/stream_key.ts";
import { COMMIT_LOG_SHARDS, commitLogShard } from "../../src/domain/fairness/work_share.ts";
import type { Bytes, Engine } from "../../src/kv/engine.ts";
import { viewOf } from "../../src/kv/slab.ts";
import { readCommits } from "../../src/store/commit_log.ts";
import { moveCursor, readCursor } from "../../src/store/cursors.ts";
import { openWatchedTypes, watchTypes } from "../../src/store/reactions/watched_types.ts";
import { uuid } from "./service_fixture.ts";

export const LOG_SHARDS = Array.from({ length: COMMIT_LOG_SHARDS }, (_, shard) => shard);
export const READER = "test";

/** From this commit on, everything that the environment writes is in the log. */
export function registerReader(engine: Engine, tenant: number): Promise<void> {
  return engine.transact(async (tx) => {
    const before = await openWatchedTypes().read(tx, tenant);
    watchTypes(tx, tenant, before, { logged: ["order", "ledger"] });
  });
}

/** Reads at most `limit` commits of a shard; returns how many it read. */
export function readStep(
  engine: Engine,
  tenant: number,
  shard: number,
  limit: number,
): Promise<number> {
  const name = { tenant, consumer: READER, shard };
  return engine.transact(async (tx) => {
    const commits = await readCommits(tx, tenant, {
      shard,
      position: await readCursor(tx, name),
      limit,
    });
    for (const { stream, first, count } of commits) {
      for (let index = first; index < first + count; index++) {
        tx.add(seenKey(tenant, stream, index), 1n);
      }
    }
    const last = commits.at(-1);
    if (last !== undefined) moveCursor(tx, name, last.position);
    return commits.length;
  });
}

/** Reads the whole log, `limit` commits at a time. */
export async function readLog(engine: Engine, tenant: number, limit = 100): Promise<void> {
  for (const shard of LOG_SHARDS) while (await readStep(engine, tenant, shard, limit) > 0);
}

/** How often the log has named an event to the reader. */
export async function timesSeen(
  engine: Engine,
  tenant: number,
  stream: StreamKey,
  index: number,
): Promise<number> {
  const value = await engine.snapshot((tx) => tx.get(seenKey(tenant, stream, index)));
  return value === undefined ? 0 : Number(viewOf(value).getBigInt64(0, true));
}

/** The same for the first event of each of these orders. */
export function timesSeenOf(
  engine: Engine,
  tenant: number,
  ids: readonly string[],
): Promise<number[]> {
  return Promise.all(ids.map((id) => timesSeen(engine, tenant, streamKey("order", id), 0)));
}

/** Ids of `count` orders that all fall into the same shard of the log. */
export function idsOfOneShard(tenant: number, count: number): string[] {
  const shardOf = (id: string) => commitLogShard(`${tenant}/${streamKey("order", id)}`);
  const first = uuid(0);
  const ids = [first];
  for (let n = 1; ids.length < count; n++) {
    if (shardOf(uuid(n)) === shardOf(first)) ids.push(uuid(n));
  }
  return ids;
}

function seenKey(tenant: number, stream: StreamKey, index: number): Bytes {
  return new TextEncoder().encode(`seen ${tenant} ${stream} ${index}`);
}
