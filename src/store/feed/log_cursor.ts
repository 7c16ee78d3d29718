/**
 * How far the projections of an environment have come in the commit log, and what is behind that.
 * The transaction that does their work also reads the cursor and moves it, so nothing is done
 * twice or left out.
 */

import type { Pieces, Turns } from "../../domain/fairness/pieces.ts";
import { openTransactionPieces } from "../../domain/fairness/transaction_pieces.ts";
import { FEED_START, type LogPlace, WHOLE_RECORD } from "../../domain/feed/place.ts";
import { splitStreamKey, type StreamKey } from "../../domain/identifier.ts";
import type { ReadTransaction, Transaction } from "../../kv/engine.ts";
import { decodeRecord, encodeRecord } from "../json_record.ts";
import { keys } from "../keys.ts";
import { lastLogPlace, readLogAt, readLogPart } from "./commit_log.ts";

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

export function isPositionBefore(a: LogPosition, b: LogPosition): boolean {
  return a.place < b.place || (a.place === b.place && a.done < b.done);
}

/** Changes of streams of certain types, from one position to another. */
export interface LogSpan {
  /** One for each entry, in order; a stream may be there several times. */
  readonly streams: readonly StreamKey[];
  readonly end: LogPosition;
  /** How many records were looked at. */
  readonly records: number;
  /** Whether nothing is known to be logged behind `end`. If false, the span was cut there. */
  readonly isAtEnd: boolean;
}

/** What a reader looks for. */
export interface LogSearch {
  readonly types: ReadonlySet<string>;
  readonly limit: number;
  readonly pieces?: Pieces;
}

/** Parts of the log that one span takes in: 512 KiB or a little more. */
const SPAN_PARTS = 8;

/**
 * At most `limit` changes of streams of these types behind `after`. The span may be cut before it
 * has any, where the log has much of other types.
 */
export async function readLogSpan(
  tx: Reads,
  tenant: number,
  after: LogPosition,
  { types, limit, pieces }: LogSearch,
): Promise<LogSpan> {
  const begun = after.done === WHOLE_RECORD ? undefined : await readLogAt(tx, tenant, after.place);
  const streams: StreamKey[] = [];
  let [end, records] = [after, 0];
  for (let part = 0; part < SPAN_PARTS; part++) {
    const read = await readLogPart(tx, tenant, end.place);
    const all = part === 0 && begun !== undefined ? [begun, ...read.records] : read.records;
    for (const { place, entries } of all) {
      records++;
      for (let at = place === after.place ? after.done : 0; at < entries.length; at++) {
        const { stream } = entries[at]!;
        if (!types.has(splitStreamKey(stream).type)) continue;
        streams.push(stream);
        if (streams.length < limit) continue;
        const done = at + 1 === entries.length ? WHOLE_RECORD : at + 1;
        return { streams, end: { place, done }, records, isAtEnd: false };
      }
      end = { place, done: WHOLE_RECORD };
    }
    if (read.isAtEnd) return { streams, end, records, isAtEnd: true };
    await pieces?.rest();
  }
  return { streams, end, records, isAtEnd: false };
}

/** What is searched at a time: spans, and milliseconds. A transaction has five seconds. */
const SEARCH_SPANS_MAX = 64;
const SEARCH_MS_MAX = 100;
const COUNT_SPANS_MAX = 20;
const COUNT_MS_MAX = 1_000;

/** How far the log was searched, and what was found. */
export interface LogFinding {
  /** Nothing that was looked for is between the beginning of the search and there. */
  readonly to: LogPosition;
  /** The position just behind the first change; absent if none was found. */
  readonly first?: LogPosition;
}

/** Looks for the first change of streams of these types behind `after`, for a short time. */
export async function searchLog(
  tx: Reads,
  tenant: number,
  after: LogPosition,
  { types, turns }: { readonly types: ReadonlySet<string>; readonly turns: Turns },
): Promise<LogFinding> {
  const pieces = openTransactionPieces(turns, tenant);
  const endMs = turns.monotonicMs() + SEARCH_MS_MAX;
  let to = after;
  for (let look = 0; look < SEARCH_SPANS_MAX; look++) {
    const span = await readLogSpan(tx, tenant, to, { types, limit: 1, pieces });
    if (span.streams.length > 0) return { to, first: span.end };
    to = span.end;
    if (span.isAtEnd || turns.monotonicMs() >= endMs) break;
  }
  return { to };
}

/** What to count, and up to what number. */
export interface LogCountRequest {
  readonly types: ReadonlySet<string>;
  readonly max: number;
  readonly turns: Turns;
}

export interface LogCount {
  readonly count: number;
  /** The stream of the first of them. */
  readonly first: StreamKey | undefined;
}

/**
 * How many changes of streams of these types are behind `after`. Of a long part of the log, only
 * the beginning is counted.
 */
export async function countInLog(
  tx: Reads,
  tenant: number,
  after: LogPosition,
  { types, max, turns }: LogCountRequest,
): Promise<LogCount> {
  const pieces = openTransactionPieces(turns, tenant);
  const endMs = turns.monotonicMs() + COUNT_MS_MAX;
  let [at, count] = [after, 0];
  let first: StreamKey | undefined;
  for (let look = 0; look < COUNT_SPANS_MAX && count < max; look++) {
    const span = await readLogSpan(tx, tenant, at, { types, limit: max - count, pieces });
    count += span.streams.length;
    first ??= span.streams[0];
    at = span.end;
    if (span.isAtEnd || turns.monotonicMs() >= endMs) break;
  }
  return { count, first };
}
