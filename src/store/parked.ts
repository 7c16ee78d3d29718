/**
 * What has failed so often that nobody tries it again: kept for people to look at, for
 * `limits.parkedRetentionSeconds` after the last try.
 */

import { limits } from "../domain/limits.ts";
import type { Bytes, ReadTransaction, Transaction } from "../kv/engine.ts";
import { unpack } from "../kv/tuple.ts";
import { decodeRecord } from "./json_record.ts";
import { keyAfter, keys } from "./keys.ts";
import { clearLargeValue, wholeValue } from "./large_value.ts";

const MS_PER_SECOND = 1000;
/** The key that it had: of the outbox, of the whole deployment; or of one tenant. */
const OUTBOX_TENANT_AT = 3;

/**
 * Removes the ended ones of the next `limit` after the key `after`. `next`: where to go on;
 * undefined when the round is over.
 */
export async function sweepParked(
  tx: Transaction,
  after: Bytes | undefined,
  nowMs: number,
  limit: number,
): Promise<{ readonly removed: number; readonly next: Bytes | undefined }> {
  const all = keys.parkeds();
  const begin = after === undefined ? all.begin : keyAfter(after);
  // Unguarded: nobody changes what is parked.
  const pairs = await tx.unguarded.getRange({ begin, end: all.end }, { limit });
  const endedByMs = nowMs - limits.parkedRetentionSeconds * MS_PER_SECOND;
  let removed = 0;
  for (const { key, value } of pairs) {
    const tenant = tenantOf(key);
    if (await readTriedMs(tx.unguarded, tenant, key, value) > endedByMs) continue;
    clearLargeValue(tx, tenant, key);
    removed++;
  }
  const last = pairs.at(-1);
  return { removed, next: pairs.length < limit ? undefined : last?.key };
}

function tenantOf(key: Bytes): number {
  const before = unpack(unpack(key).at(-1) as Bytes);
  return (before[0] === 0 ? before[OUTBOX_TENANT_AT] : before[0]) as number;
}

/** When it was tried last: an entry of the outbox says it so, a scheduled event by its timer. */
async function readTriedMs(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  key: Bytes,
  value: Bytes,
): Promise<number> {
  const whole = await wholeValue(tx, tenant, key, value);
  const { sinceMs, timerMs } = decodeRecord<{ sinceMs?: number; timerMs?: number }>(whole);
  return sinceMs ?? timerMs ?? 0;
}
