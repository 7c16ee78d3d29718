/**
 * Counts the events that each environment stores in each month, because plans limit them. The
 * transaction that stores events counts them, by additions, which never conflict, in several
 * keys, so that none of them is hot. The counters of past months are kept for people to look at.
 */

import type { Bytes, ReadTransaction, Transaction } from "../kv/engine.ts";
import { viewOf } from "../kv/slab.ts";
import { keys } from "./keys.ts";

/** Counters are kept in so many parts, so that writers seldom meet. Their sum counts. */
const USAGE_SHARDS = 8;

/** The part that a subject counts in, by its last character. */
export function usageShard(subject: string): number {
  return subject.charCodeAt(subject.length - 1) % USAGE_SHARDS;
}

export interface UsedEvents {
  readonly month: string;
  readonly events: number;
  readonly subject: string;
}

/**
 * Call this once in each transaction that stores events. `month` is from `monthOf`; `subject`
 * tells transactions apart, for example by one of their streams.
 */
export function countUsage(
  tx: Pick<Transaction, "add">,
  tenant: number,
  { month, events, subject }: UsedEvents,
): void {
  tx.add(keys.usage(tenant, month, usageShard(subject)), BigInt(events));
}

/** Events stored in that month. */
export async function readUsage(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  month: string,
): Promise<number> {
  const pairs = await tx.getRange(keys.usages(tenant, month), { limit: USAGE_SHARDS });
  return pairs.reduce((sum, { value }) => sum + decodeCounter(value), 0);
}

function decodeCounter(value: Bytes): number {
  return Number(viewOf(value).getBigInt64(0, true));
}

/** `2026-11`, in UTC. */
export function monthOf(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 7);
}

/** When the month after `month` begins, as an ISO 8601 UTC time. */
export function monthEnd(month: string): string {
  const [year = NaN, number = NaN] = month.split("-").map(Number);
  return new Date(Date.UTC(year, number)).toISOString();
}
