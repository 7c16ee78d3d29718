/**
 * The commit log of an environment: what each transaction did to which streams, in the order of
 * the commits, kept for ever. A reader who has seen a place in it never finds anything new before
 * that place. The feed, projections and live reads follow it. See docs/internals/feed.md.
 *
 * The key of a record ends with the epoch (two bytes), the stamp of the commit (ten), and the
 * number of its part if it is not the first (two): a transaction that writes to thousands of
 * streams needs several.
 */

import { assert } from "../../domain/assert.ts";
import type { LogPlace } from "../../domain/feed/place.ts";
import type { Bytes, KeyValue, ReadTransaction, Transaction } from "../../kv/engine.ts";
import { newBytes } from "../../kv/slab.ts";
import { decodeRecord, encodeRecord } from "../json_record.ts";
import { keyAfter, keys } from "../keys.ts";
import { decodeEntries, encodeEntries, type LogEntry } from "./log_record.ts";

/** The epoch of the history that was filled in, and that of commits. */
export const FILLED_EPOCH = 0;
export const LIVE_EPOCH = 1;

/** A value may have 100,000 bytes. */
const RECORD_BYTES_MAX = 90_000;
const EPOCH_BYTES = 2;
const STAMP_BYTES = 10;
const NO_SUFFIX = new Uint8Array(0);

/** Where in the log something is, and what is there. */
export interface LogRecord {
  readonly place: LogPlace;
  readonly entries: readonly LogEntry[];
}

/** How many parts transactions have that log more than once. */
const partsOf = new WeakMap<Transaction, number>();
const PARTS_MAX = 65_536;

/** Logs what the transaction does, in order, behind what it has logged before. */
export function logCommit(tx: Transaction, tenant: number, entries: readonly LogEntry[]): void {
  const prefix = prefixOf(tenant, LIVE_EPOCH);
  let part = partsOf.get(tx) ?? 0;
  for (let from = 0; from < entries.length; part++) {
    assert(part < PARTS_MAX, "a transaction has few parts of the log");
    const rest = from === 0 ? entries : entries.slice(from);
    const { record, count } = encodeEntries(rest, RECORD_BYTES_MAX);
    tx.setStamped(prefix, part === 0 ? NO_SUFFIX : Uint8Array.of(part >> 8, part), record);
    from += count;
  }
  partsOf.set(tx, part);
}

/** Wakes the upkeep of projections on all nodes. At most once in a transaction. */
export function signalCommits(tx: Transaction): void {
  tx.add(keys.commitSignal(), 1n);
}

/** Logs something of the time before the log, as record `number`. The entries are few. */
export function logFilled(
  tx: Transaction,
  tenant: number,
  number: number,
  entries: readonly LogEntry[],
): void {
  const prefix = prefixOf(tenant, FILLED_EPOCH);
  const key = newBytes(prefix.length + STAMP_BYTES);
  key.set(prefix);
  new DataView(key.buffer, key.byteOffset).setBigUint64(prefix.length, BigInt(number));
  tx.set(key, encodeEntries(entries, RECORD_BYTES_MAX).record);
}

/** What the keys of records of an epoch begin with. */
function prefixOf(tenant: number, epoch: number): Bytes {
  const { begin } = keys.commitLog(tenant);
  const prefix = newBytes(begin.length + EPOCH_BYTES);
  prefix.set(begin);
  prefix[begin.length] = epoch >> 8;
  prefix[begin.length + 1] = epoch;
  return prefix;
}

export interface LogPage {
  /** Only what is behind this place. */
  readonly after: LogPlace;
  readonly limit: number;
  readonly bytesMax?: number;
}

type Reads = Pick<ReadTransaction, "getRange">;

export async function readLog(
  tx: Reads,
  tenant: number,
  { after, limit, bytesMax }: LogPage,
): Promise<LogRecord[]> {
  const range = { begin: keyAfter(keyOf(tenant, after)), end: keys.commitLog(tenant).end };
  const pairs = await tx.getRange(range, { limit, ...(bytesMax !== undefined && { bytesMax }) });
  return pairs.map((pair) => toRecord(tenant, pair));
}

/** The record at a place; undefined if there is none. */
export async function readLogAt(
  tx: Pick<ReadTransaction, "get">,
  tenant: number,
  place: LogPlace,
): Promise<LogRecord | undefined> {
  const value = await tx.get(keyOf(tenant, place));
  return value && { place, entries: decodeEntries(value) };
}

/** The place of the newest record; undefined if the log is empty. */
export async function lastLogPlace(tx: Reads, tenant: number): Promise<LogPlace | undefined> {
  const options = { limit: 1, reverse: true, keysOnly: true };
  const [last] = await tx.getRange(keys.commitLog(tenant), options);
  return last && placeOf(tenant, last.key);
}

/** Whether anything is behind a place. */
export async function hasLogged(tx: Reads, tenant: number, after: LogPlace): Promise<boolean> {
  const range = { begin: keyAfter(keyOf(tenant, after)), end: keys.commitLog(tenant).end };
  return (await tx.getRange(range, { limit: 1, keysOnly: true })).length > 0;
}

const PLACE_BYTES = 14;
const PART_BYTES = 2;
const FIRST_PART = "0000";

/** The place of a first part ends with zeros that its key does not have. */
function keyOf(tenant: number, place: LogPlace): Bytes {
  const { begin: prefix } = keys.commitLog(tenant);
  const isFirst = place.endsWith(FIRST_PART);
  const key = newBytes(prefix.length + (isFirst ? PLACE_BYTES - PART_BYTES : PLACE_BYTES));
  key.set(prefix);
  key.subarray(prefix.length).setFromHex(isFirst ? place.slice(0, -FIRST_PART.length) : place);
  return key;
}

function placeOf(tenant: number, key: Bytes): LogPlace {
  const text = key.subarray(keys.commitLog(tenant).begin.length).toHex();
  return text.length === 2 * PLACE_BYTES ? text : `${text}${FIRST_PART}`;
}

function toRecord(tenant: number, { key, value }: KeyValue): LogRecord {
  return { place: placeOf(tenant, key), entries: decodeEntries(value) };
}

/**
 * What the cursors of an environment's feed are recognized by: eight random hexadecimal digits,
 * which no other environment has by more than chance. Undefined if nobody has read the feed yet.
 */
export async function readFeedId(
  tx: Pick<ReadTransaction, "get">,
  tenant: number,
): Promise<string | undefined> {
  const value = await tx.get(keys.feedId(tenant));
  return value && decodeRecord<{ readonly id: string }>(value).id;
}

export function setFeedId(tx: Transaction, tenant: number, id: string): void {
  tx.set(keys.feedId(tenant), encodeRecord({ id }));
}
