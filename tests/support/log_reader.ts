/**
 * A reader of the commit log as a real one would be. In one transaction it counts each event
 * that the log names and moves its cursor.
 */

import { FEED_START, WHOLE_RECORD } from "../../src/domain/feed/place.ts";
import { type StreamKey, streamKey } from "../../src/domain/identifier.ts";
import type { Bytes, Engine, ReadTransaction, Transaction } from "../../src/kv/engine.ts";
import { viewOf } from "../../src/kv/slab.ts";
import {
  type LogEntry,
  readLog as readRecords,
  readLogAt,
} from "../../src/store/feed/commit_log.ts";
import type { LogPosition } from "../../src/store/feed/log_cursor.ts";
import { uuid } from "./service_fixture.ts";

/** The next entries of the log, and the position behind them. */
export interface NextEntries {
  readonly entries: readonly LogEntry[];
  readonly end: LogPosition;
}

const START: LogPosition = { place: FEED_START, done: WHOLE_RECORD };

/** At most `limit` entries behind a position; it may end amid a record. */
export async function nextEntries(
  tx: Pick<ReadTransaction, "get" | "getRange">,
  tenant: number,
  at: LogPosition,
  limit: number,
): Promise<NextEntries> {
  const begun = await readLogAt(tx, tenant, at.place);
  const records = await readRecords(tx, tenant, { after: at.place, limit });
  if (begun !== undefined) records.unshift(begun);
  const entries: LogEntry[] = [];
  let end = at;
  for (const { place, entries: all } of records) {
    const from = place === at.place ? at.done : 0;
    const some = all.slice(from, from + limit - entries.length);
    entries.push(...some);
    if (some.length > 0) end = { place, done: from + some.length };
    if (entries.length === limit) break;
  }
  return { entries, end };
}

/** Guarded. */
export async function readCursor(
  tx: Pick<ReadTransaction, "get">,
  tenant: number,
): Promise<LogPosition> {
  const value = await tx.get(cursorKey(tenant));
  return value === undefined ? START : JSON.parse(new TextDecoder().decode(value));
}

export function moveCursor(tx: Transaction, tenant: number, position: LogPosition): void {
  tx.set(cursorKey(tenant), new TextEncoder().encode(JSON.stringify(position)));
}

/** Reads at most `limit` entries; returns how many it read. */
export function readStep(engine: Engine, tenant: number, limit: number): Promise<number> {
  return engine.transact(async (tx) => {
    const { entries, end } = await nextEntries(tx, tenant, await readCursor(tx, tenant), limit);
    for (const entry of entries) {
      if (entry.kind !== "appended") continue;
      const { stream, first, count } = entry;
      for (let index = first; index < first + count; index++) {
        tx.add(seenKey(tenant, stream, index), 1n);
      }
    }
    if (entries.length > 0) moveCursor(tx, tenant, end);
    return entries.length;
  });
}

/** Reads the whole log, `limit` entries at a time. */
export async function readLog(engine: Engine, tenant: number, limit = 100): Promise<void> {
  while (await readStep(engine, tenant, limit) > 0);
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

/** Ids of orders. */
export function idsOf(count: number): string[] {
  return Array.from({ length: count }, (_, n) => uuid(n));
}

function cursorKey(tenant: number): Bytes {
  return new TextEncoder().encode(`cursor ${tenant}`);
}

function seenKey(tenant: number, stream: StreamKey, index: number): Bytes {
  return new TextEncoder().encode(`seen ${tenant} ${stream} ${index}`);
}
