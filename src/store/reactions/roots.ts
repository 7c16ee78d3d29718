/**
 * How much each root has set off, and how much recurring timers have in an hour. A root has a
 * record only if it sets something off at the second depth, or has several events; most never
 * do.
 *
 * A record is kept for a day after its last change. What a root sets off later than that counts
 * from the start again. See docs/reference/reactions.md.
 */

import { limits } from "../../domain/limits.ts";
import { usageShard } from "../usage.ts";
import type { ReadTransaction, Transaction } from "../../kv/engine.ts";
import { viewOf } from "../../kv/slab.ts";
import { unpack } from "../../kv/tuple.ts";
import { decodeRecord, encodeRecord } from "../json_record.ts";
import { keys } from "../keys.ts";

export interface RootRecord {
  /** Events that it has set off: written, or waiting to be written. */
  readonly count: number;
  /** When it last changed, in milliseconds since 1970. */
  readonly changedMs: number;
  /** Whether an error record reports that it has reached its limit. */
  readonly isReported?: true;
  /** Hash of a spec under which something that it set off was dropped, and reported. */
  readonly droppedUnder?: string;
}

const MS_PER_HOUR = 3_600_000;
const SECONDS_PER_HOUR = 3_600;
/** In place of a root's name, for the counters of an hour. No root has this name. */
const HOUR = "";
const PRESENT = new Uint8Array(0);

/** Guarded, so that counts added to it are exact. */
export async function readRoot(
  tx: Pick<ReadTransaction, "get">,
  tenant: number,
  of: string,
): Promise<RootRecord | undefined> {
  const value = await tx.get(keys.root(tenant, of));
  return value && decodeRecord<RootRecord>(value);
}

export function saveRoot(tx: Transaction, tenant: number, of: string, record: RootRecord): void {
  tx.set(keys.root(tenant, of), encodeRecord(record));
}

/** Stores the first record of a root, and the entry that has it removed one day. */
export function createRoot(tx: Transaction, tenant: number, of: string, record: RootRecord): void {
  saveRoot(tx, tenant, of, record);
  tx.set(keys.rootDue(dueHour(record.changedMs), tenant, of), PRESENT);
}

/** How many events recurring timers have set off in an hour, as `tx` sees it. */
export async function readRecurring(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  hour: number,
): Promise<number> {
  const pairs = await tx.getRange(keys.recurrings(tenant, hour));
  return pairs.reduce((sum, { value }) => sum + Number(viewOf(value).getBigInt64(0, true)), 0);
}

export interface RecurringEvents {
  readonly hour: number;
  readonly events: number;
  readonly subject: string;
}

/** Adds to that count without a conflict. `subject` spreads the additions. */
export function countRecurring(
  tx: Transaction,
  tenant: number,
  { hour, events, subject }: RecurringEvents,
): void {
  tx.add(keys.recurring(tenant, hour, usageShard(subject)), BigInt(events));
  tx.set(keys.rootDue(dueHour(hour * MS_PER_HOUR), tenant, HOUR), PRESENT);
}

function dueHour(changedMs: number): number {
  return Math.ceil(changedMs / MS_PER_HOUR + limits.rootRetentionSeconds / SECONDS_PER_HOUR);
}

/** Removes up to `limit` records that have expired by `nowMs`; returns how many it looked at. */
export async function sweepRoots(tx: Transaction, nowMs: number, limit: number): Promise<number> {
  const { begin } = keys.rootDues();
  const hour = Math.floor(nowMs / MS_PER_HOUR);
  const due = await tx.getRange({ begin, end: keys.rootDue(hour, 0, "") }, { limit });
  for (const { key } of due) {
    tx.clear(key);
    const [dueIn, tenant, of] = unpack(key).slice(-3) as [number, number, string];
    if (of === HOUR) removeHours(tx, tenant, dueIn);
    else await removeRoot(tx, tenant, of, hour);
  }
  return due.length;
}

/** Removes the counters of all hours that were due by then. */
function removeHours(tx: Transaction, tenant: number, dueIn: number): void {
  const { begin } = keys.recurrings(tenant);
  const kept = dueIn - limits.rootRetentionSeconds / SECONDS_PER_HOUR + 1;
  tx.clearRange({ begin, end: keys.recurrings(tenant, kept).begin });
}

/** A record that was changed since gets a new due time, counted from that change. */
async function removeRoot(tx: Transaction, tenant: number, of: string, hour: number) {
  const record = await readRoot(tx, tenant, of);
  if (record === undefined) return;
  const dueIn = dueHour(record.changedMs);
  if (dueIn < hour) tx.clear(keys.root(tenant, of));
  else tx.set(keys.rootDue(dueIn, tenant, of), PRESENT);
}
