/** Diagnostic records of 5xx answers, kept for a day. See docs/reference/errors.md. */

import type { ErrorRecord } from "../domain/error_record.ts";
import { limits } from "../domain/limits.ts";
import type { Bytes, ReadTransaction, Transaction } from "../kv/engine.ts";
import { unpack } from "../kv/tuple.ts";
import { type ErasedStream, takePage } from "./erased_copies.ts";
import { keys } from "./keys.ts";
import { parseJson } from "../domain/json_text/parse_json.ts";

const MS_PER_SECOND = 1000;
const SECONDS_PER_HOUR = 3600;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function storeErrorRecord(tx: Transaction, tenant: number, record: ErrorRecord): void {
  const ends = Date.parse(record.occurred_at) / MS_PER_SECOND + limits.errorRecordRetentionSeconds;
  tx.set(keys.errorRecord(tenant, record.error_id), encoder.encode(JSON.stringify(record)));
  const hour = Math.ceil(ends / SECONDS_PER_HOUR);
  tx.set(keys.errorDue(hour, tenant, record.error_id), new Uint8Array(0));
}

/**
 * At most `limit` records of a tenant before the id `start`, newest first, expired ones
 * included.
 */
export async function listErrorRecords(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  page: { readonly start?: string; readonly limit: number },
): Promise<ErrorRecord[]> {
  const { begin, end } = keys.errorRecords(tenant);
  // Ids begin with their time.
  const range = {
    begin,
    end: page.start === undefined ? end : keys.errorRecord(tenant, page.start),
  };
  const pairs = await tx.getRange(range, { reverse: true, limit: page.limit });
  return pairs.map(({ value }) => parseJson(decoder.decode(value)) as ErrorRecord);
}

/** The record, unless it is missing or older than a day at `nowMs`. */
export async function readErrorRecord(
  tx: Pick<ReadTransaction, "get">,
  tenant: number,
  errorId: string,
  nowMs: number,
): Promise<ErrorRecord | undefined> {
  const value = await tx.get(keys.errorRecord(tenant, errorId));
  if (value === undefined) return undefined;
  const record = parseJson(decoder.decode(value)) as ErrorRecord;
  return isFresh(record, nowMs) ? record : undefined;
}

export function isFresh(record: ErrorRecord, nowMs: number): boolean {
  const ageMs = nowMs - Date.parse(record.occurred_at);
  return ageMs < limits.errorRecordRetentionSeconds * MS_PER_SECOND;
}

/** Removes up to `limit` records that have expired by `nowMs`; returns how many. */
export async function sweepErrorRecords(tx: Transaction, nowMs: number, limit: number) {
  const { begin } = keys.errorDues();
  const hour = Math.floor(nowMs / MS_PER_SECOND / SECONDS_PER_HOUR);
  const due = await tx.getRange({ begin, end: keys.errorDue(hour, 0, "") }, { limit });
  for (const { key } of due) {
    const [tenant, errorId] = unpack(key).slice(-2) as [number, string];
    tx.clear(keys.errorRecord(tenant, errorId));
    tx.clear(key);
  }
  return due.length;
}

/** Removes the next records that mention an erased stream, in whatever words. */
export async function removeStreamErrors(
  tx: Transaction,
  { tenant, stream }: ErasedStream,
  after: Bytes | undefined,
): Promise<Bytes | undefined> {
  return await takePage(tx, keys.errorRecords(tenant), after, ({ key, value }) => {
    // The due entry stays, and finds nothing to remove later.
    if (decoder.decode(value).includes(stream)) tx.clear(key);
  });
}
