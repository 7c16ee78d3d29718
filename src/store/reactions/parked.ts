/**
 * Removes parked work, which failed too often to be tried again. It is kept for people to look
 * at, for `limits.parkedRetentionSeconds` after the last attempt.
 */

import { limits } from "../../domain/limits.ts";
import type { Bytes, ReadTransaction, Transaction } from "../../kv/engine.ts";
import { unpack } from "../../kv/tuple.ts";
import { decodeRecord } from "../json_record.ts";
import { keyAfter, keys } from "../keys.ts";
import { clearLargeValue, wholeValue } from "../large_value.ts";

const MS_PER_SECOND = 1000;
/**
 * Where the tenant is in an outbox key, which belongs to the whole deployment. A parked key
 * holds the key its work had, of the outbox or of one tenant.
 */
const OUTBOX_TENANT_AT = 3;

/**
 * Removes the expired ones of the next `limit` after the key `after`. `next` is where to go on;
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
  // Unguarded: parked work does not change.
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

/** When it was last tried: an outbox entry records it, and a scheduled event does by its timer. */
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
