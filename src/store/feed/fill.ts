/**
 * Records of the filling in of logs: the events that environments had before there was a commit
 * log. While that is under way, each write notes from which event on the log has its stream.
 */

import { FEED_START, type LogPlace } from "../../domain/feed/place.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { ReadTransaction, Transaction } from "../../kv/engine.ts";
import { unpack } from "../../kv/tuple.ts";
import { decodeRecord, encodeRecord } from "../json_record.ts";
import { keys } from "../keys.ts";
import { lastLogPlace, LIVE_EPOCH, type LogEntry } from "./commit_log.ts";
import { TextMap } from "../../domain/lookup/text_map.ts";

export interface FillProgress {
  /** How many records were filled in. */
  readonly records: number;
  /** Streams up to and including this one are done; absent at the beginning. */
  readonly after?: StreamKey;
}

type Reads = Pick<ReadTransaction, "get" | "getRange">;

/** Undefined if the log of the environment is complete. */
export async function readFill(
  tx: Pick<ReadTransaction, "get">,
  tenant: number,
): Promise<FillProgress | undefined> {
  const value = await tx.get(keys.feedFill(tenant));
  return value && decodeRecord<FillProgress>(value);
}

export function setFill(tx: Transaction, tenant: number, progress: FillProgress): void {
  tx.set(keys.feedFill(tenant), encodeRecord(progress));
}

/** The log is complete. */
export function endFill(tx: Transaction, tenant: number): void {
  tx.clear(keys.feedFill(tenant));
  tx.clearRange(keys.logStarts(tenant));
}

/** The environments whose log is being filled in. */
export async function listFills(tx: Reads): Promise<number[]> {
  const pairs = await tx.getRange(keys.feedFills(), { keysOnly: true });
  return pairs.map(({ key }) => unpack(key).at(-1) as number);
}

/** Whether all environments from before the feed are known. */
export async function isFeedPrepared(tx: Pick<ReadTransaction, "get">): Promise<boolean> {
  return await tx.get(keys.feedPrepared()) !== undefined;
}

export function setFeedPrepared(tx: Transaction): void {
  tx.set(keys.feedPrepared(), new Uint8Array(0));
}

/** Notes the first event of each stream that the log has. For writes while it is filled in. */
export async function noteLogStarts(
  tx: Transaction,
  tenant: number,
  entries: readonly LogEntry[],
): Promise<void> {
  const firsts = new TextMap<number, StreamKey>();
  for (const entry of entries) {
    if (entry.kind === "appended" && !firsts.has(entry.stream)) {
      firsts.set(entry.stream, entry.first);
    }
  }
  await Promise.all(
    [...firsts].map(async ([stream, first]) => {
      if (await readLogStart(tx, tenant, stream) !== undefined) return;
      tx.set(keys.logStart(tenant, stream), encodeRecord({ first }));
    }),
  );
}

/** The first event of the stream that the log has; undefined if nothing was noted. */
export async function readLogStart(
  tx: Pick<ReadTransaction, "get">,
  tenant: number,
  stream: StreamKey,
): Promise<number | undefined> {
  const value = await tx.get(keys.logStart(tenant, stream));
  return value && decodeRecord<{ readonly first: number }>(value).first;
}

/** Before the first commit in the log, and behind everything that is filled in. */
export const BEFORE_COMMITS: LogPlace = LIVE_EPOCH.toString(16).padStart(4, "0") +
  FEED_START.slice(4);

/**
 * Where the log of commits ends. What may still be filled in of the time before the log is not
 * behind that place.
 */
export async function logEnd(tx: Reads, tenant: number): Promise<LogPlace> {
  const last = await lastLogPlace(tx, tenant);
  return last === undefined || last < BEFORE_COMMITS ? BEFORE_COMMITS : last;
}
