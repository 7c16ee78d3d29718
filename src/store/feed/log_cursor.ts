/**
 * How far the projections of an environment have come in the commit log, and what is behind that.
 * The transaction that does their work also reads the cursor and moves it, so nothing is done
 * twice or left out.
 */

import { FEED_START, type LogPlace, WHOLE_RECORD } from "../../domain/feed/place.ts";
import { splitStreamKey, type StreamKey } from "../../domain/identifier.ts";
import type { ReadTransaction, Transaction } from "../../kv/engine.ts";
import { decodeRecord, encodeRecord } from "../json_record.ts";
import { keys } from "../keys.ts";
import { hasLogged, lastLogPlace, readLog, readLogAt } from "./commit_log.ts";

/** The records before `place` are done, and so are the first `done` entries of the one there. */
export interface LogPosition {
  readonly place: LogPlace;
  readonly done: number;
}

type Reads = Pick<ReadTransaction, "get" | "getRange">;

/** Guarded. At the start of the log if there is none. */
export async function readLogCursor(
  tx: Pick<ReadTransaction, "get">,
  tenant: number,
): Promise<LogPosition> {
  const value = await tx.get(keys.logCursor(tenant));
  if (value === undefined) return { place: FEED_START, done: WHOLE_RECORD };
  return decodeRecord<LogPosition>(value);
}

/** Call this in the transaction of the effect. */
export function moveLogCursor(tx: Transaction, tenant: number, position: LogPosition): void {
  tx.set(keys.logCursor(tenant), encodeRecord(position));
}

/** Puts the cursor behind everything logged so far, for readers that begin now. */
export async function beginLogCursor(tx: Transaction, tenant: number): Promise<void> {
  if (await tx.get(keys.logCursor(tenant)) !== undefined) return;
  const place = await lastLogPlace(tx.unguarded, tenant) ?? FEED_START;
  moveLogCursor(tx, tenant, { place, done: WHOLE_RECORD });
}

export function clearLogCursor(tx: Transaction, tenant: number): void {
  tx.clear(keys.logCursor(tenant));
}

/** Changes of streams of certain types, from one position to another. */
export interface LogSpan {
  /** One for each entry, in order; a stream may be there several times. */
  readonly streams: readonly StreamKey[];
  readonly end: LogPosition;
  /** How many records were looked at; 0 at the end of the log. */
  readonly records: number;
}

/** What a reader looks for. */
export interface LogSearch {
  readonly types: ReadonlySet<string>;
  readonly limit: number;
}

/** What one look at the log takes in. */
const SPAN_RECORDS = 500;
const SPAN_BYTES = 512 * 1024;

/** At most `limit` changes of streams of these types behind `after`. */
export async function readLogSpan(
  tx: Reads,
  tenant: number,
  after: LogPosition,
  { types, limit }: LogSearch,
): Promise<LogSpan> {
  const begun = after.done === WHOLE_RECORD ? undefined : await readLogAt(tx, tenant, after.place);
  const page = { after: after.place, limit: SPAN_RECORDS, bytesMax: SPAN_BYTES };
  const records = await readLog(tx, tenant, page);
  if (begun !== undefined) records.unshift(begun);
  const streams: StreamKey[] = [];
  let end = after;
  for (const [number, { place, entries }] of records.entries()) {
    const from = begun !== undefined && number === 0 ? after.done : 0;
    for (let at = from; at < entries.length; at++) {
      const { stream } = entries[at]!;
      if (!types.has(splitStreamKey(stream).type)) continue;
      streams.push(stream);
      if (streams.length < limit) continue;
      const done = at + 1 === entries.length ? WHOLE_RECORD : at + 1;
      return { streams, end: { place, done }, records: number + 1 };
    }
    end = { place, done: WHOLE_RECORD };
  }
  return { streams, end, records: records.length };
}

/** Looks that a count takes; what is behind them is not counted. */
const LOOKS_MAX = 20;

/** How many changes of streams of these types are behind the cursor, counted up to `max`. */
export async function countBehindCursor(
  tx: Reads,
  tenant: number,
  types: ReadonlySet<string>,
  max: number,
): Promise<number> {
  let at = await readLogCursor(tx, tenant);
  let count = 0;
  for (let look = 0; look < LOOKS_MAX && count < max; look++) {
    const span = await readLogSpan(tx, tenant, at, { types, limit: max - count });
    if (span.records === 0) break;
    count += span.streams.length;
    at = span.end;
  }
  return count;
}

/** The first stream of these types that changed behind the cursor, up to `until`. */
export async function firstBehindCursor(
  tx: Reads,
  tenant: number,
  types: ReadonlySet<string>,
  until?: LogPlace,
): Promise<StreamKey | undefined> {
  let at = await readLogCursor(tx, tenant);
  for (;;) {
    const span = await readLogSpan(tx, tenant, at, { types, limit: 1 });
    const isBeyond = until !== undefined && span.end.place > until;
    if (isBeyond || span.records === 0) return undefined;
    if (span.streams.length > 0) return span.streams[0];
    at = span.end;
    if (!await hasLogged(tx, tenant, at.place)) return undefined;
  }
}
