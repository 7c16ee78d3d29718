/** The log of commits that older builds kept in shards for projections, moved into this one. */

import type { StreamKey } from "../../domain/identifier.ts";
import type { Transaction } from "../../kv/engine.ts";
import { unpack } from "../../kv/tuple.ts";
import { keys } from "../keys.ts";
import { logCommit, type LogEntry } from "./commit_log.ts";

const SHARDS = 16;
const STAMP_BYTES = 10;

/**
 * Moves up to `limit` entries of that older log into this one, as streams that have been touched,
 * and removes its cursors once it is empty. Returns how many entries there were.
 */
export async function moveShardedLog(
  tx: Transaction,
  tenant: number,
  limit: number,
): Promise<number> {
  const touched: LogEntry[] = [];
  for (let shard = 0; shard < SHARDS && touched.length < limit; shard++) {
    const begin = keys.shardedLog(tenant, shard);
    const range = { begin, end: keys.shardedLog(tenant, shard + 1) };
    const options = { limit: limit - touched.length, keysOnly: true };
    for (const { key } of await tx.getRange(range, options)) {
      const [stream] = unpack(key.subarray(begin.length + STAMP_BYTES)) as [StreamKey];
      touched.push({ kind: "touched", stream });
      tx.clear(key);
    }
  }
  if (touched.length > 0) logCommit(tx, tenant, touched);
  else tx.clearRange(keys.shardedCursors(tenant));
  return touched.length;
}
