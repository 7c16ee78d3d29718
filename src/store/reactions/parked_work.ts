/**
 * Parked work: entries of the outbox and scheduled events that are not tried again. They are kept
 * for people to look at, but not forever.
 */

import { limits } from "../../domain/limits.ts";
import type { Bytes, ReadTransaction, Transaction } from "../../kv/engine.ts";
import { unpack } from "../../kv/tuple.ts";
import { noteScheduleEnd, type ScheduledBy } from "../effects.ts";
import { decodeRecord } from "../json_record.ts";
import { keyAfter, keys } from "../keys.ts";
import { clearLargeValue, valueEdge, wholeValue } from "../large_value.ts";
import { timesAtEnd } from "./entry_bytes.ts";

/** A count ends early where parked work is large. */
const COUNTED_BYTES_MAX = 1024 * 1024;

/** How many entries of all kinds are parked, counted up to `countMax`, or to fewer if large. */
export async function countParked(
  tx: Pick<ReadTransaction, "getRange">,
  countMax: number,
): Promise<number> {
  const bounds = { limit: countMax, bytesMax: COUNTED_BYTES_MAX };
  return (await tx.getRange(keys.parkeds(), bounds)).length;
}

const MS_PER_SECOND = 1000;
/**
 * Where the tenant is in an outbox key, which belongs to the whole deployment. A parked key
 * holds the key its work had, of the outbox or of one tenant.
 */
const OUTBOX_TENANT_AT = 3;

/** Bytes of parked work that one transaction reads, and what the last of it is above that. */
const PARKED_BYTES_MAX = 256 * 1024;

/**
 * Removes parked work that was last tried `limits.parkedRetentionSeconds` ago or earlier, of the
 * next `limit` entries after the key `after`, or of fewer if they are large. `next` is where to go
 * on; undefined when the round is over.
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
  const bounds = { limit, bytesMax: PARKED_BYTES_MAX };
  const pairs = await tx.unguarded.getRange({ begin, end: all.end }, bounds);
  const endedByMs = nowMs - limits.parkedRetentionSeconds * MS_PER_SECOND;
  let removed = 0;
  let bytes = 0;
  let last: Bytes | undefined;
  for (const { key, value } of pairs) {
    if (bytes >= PARKED_BYTES_MAX) break;
    const tenant = tenantOf(key);
    const { size, triedMs, id, by } = await readParked(tx.unguarded, tenant, key, value);
    bytes += key.length + size;
    last = key;
    if (triedMs > endedByMs) continue;
    clearLargeValue(tx, tenant, key);
    if (id !== undefined && by !== undefined) noteScheduleEnd(tx, tenant, { id, by }, undefined);
    removed++;
  }
  const isLast = pairs.length < limit && bytes < PARKED_BYTES_MAX;
  return { removed, next: isLast ? undefined : last };
}

interface ParkedWork extends Partial<ScheduledBy> {
  /** When it was last tried: an outbox entry records it, a scheduled event does by its timer. */
  readonly triedMs: number;
  /** Bytes that were read. */
  readonly size: number;
}

/** Of an outbox entry, only the end is decoded, because the event in it may be large. */
async function readParked(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  key: Bytes,
  value: Bytes,
): Promise<ParkedWork> {
  const end = await valueEdge(tx, tenant, { key, value }, "last");
  const times = timesAtEnd(end);
  if (times !== undefined) return { triedMs: times.sinceMs, size: end.length };
  const whole = await wholeValue(tx, tenant, key, value);
  const { sinceMs, timerMs, ...rest } = decodeRecord<ParkedTimes & Partial<ScheduledBy>>(whole);
  return { ...rest, triedMs: sinceMs ?? timerMs ?? 0, size: whole.length };
}

function tenantOf(key: Bytes): number {
  const before = unpack(unpack(key).at(-1) as Bytes);
  return (before[0] === 0 ? before[OUTBOX_TENANT_AT] : before[0]) as number;
}

interface ParkedTimes {
  readonly sinceMs?: number;
  readonly timerMs?: number;
}
