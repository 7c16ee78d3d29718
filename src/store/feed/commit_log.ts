/**
 * The commit log of an environment: what each transaction did to which streams, in the order of
 * the commits, kept for ever. A reader who has seen a place in it never finds anything new before
 * that place. The feed, projections and live reads follow it. See docs/internals/feed.md.
 *
 * Records are small, because every write stores one. Layout: format byte, then the entries. An
 * entry is a byte of flags, the aggregate type (length, UTF-8; left out if it is that of the entry
 * before), the id (16 bytes for a UUID, otherwise length and UTF-8), and, for appended events, the
 * index of the first one and their number. Numbers have seven bits in a byte, the lowest first.
 *
 * The key of a record ends with the epoch (two bytes), the stamp of the commit (ten), and the
 * number of its part if it is not the first (two): a transaction that writes to thousands of
 * streams needs several.
 */

import { assert } from "../../domain/assert.ts";
import type { LogPlace } from "../../domain/feed/place.ts";
import type { Bytes, KeyRange, KeyValue, ReadTransaction, Transaction } from "../../kv/engine.ts";
import { splitStreamKey, type StreamKey, streamKey } from "../../domain/identifier.ts";
import { newBytes, utf8Of } from "../../kv/slab.ts";
import { decodeRecord, encodeRecord } from "../json_record.ts";
import { keyAfter, keys } from "../keys.ts";

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
  const begin = keys.commitLogBegin(tenant);
  const prefix = newBytes(begin.length + EPOCH_BYTES);
  prefix.set(begin);
  prefix[begin.length] = epoch >> 8;
  prefix[begin.length + 1] = epoch;
  return prefix;
}

export interface LogPage {
  /** Only what is behind this place. */
  readonly after: LogPlace;
  /** Nothing behind this place; absent: all there is. */
  readonly until?: LogPlace;
  readonly limit: number;
  readonly bytesMax?: number;
}

type Reads = Pick<ReadTransaction, "getRange">;

export async function readLog(
  tx: Reads,
  tenant: number,
  { after, until, limit, bytesMax }: LogPage,
): Promise<LogRecord[]> {
  if (until !== undefined && until <= after) return [];
  const pairs = await tx.getRange(rangeOf(tenant, after, until), {
    limit,
    ...(bytesMax !== undefined && { bytesMax }),
  });
  return pairs.map((pair) => toRecord(tenant, pair));
}

/** The first records behind a place. */
export interface LogPart {
  readonly records: readonly LogRecord[];
  /** False if the part was cut, so that there may be more behind it. */
  readonly isAtEnd: boolean;
}

/** What is read and decoded at once; it takes a few milliseconds. */
const READ_RECORDS = 250;
const READ_BYTES = 64 * 1024;

export async function readLogPart(tx: Reads, tenant: number, after: LogPlace): Promise<LogPart> {
  const size = { limit: READ_RECORDS, bytesMax: READ_BYTES };
  const pairs = await tx.getRange(rangeOf(tenant, after, undefined), size);
  const bytes = pairs.reduce((sum, { key, value }) => sum + key.length + value.length, 0);
  return {
    records: pairs.map((pair) => toRecord(tenant, pair)),
    isAtEnd: pairs.length < READ_RECORDS && bytes < READ_BYTES,
  };
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

/** What is behind a place. */
export interface LogNews {
  /** False if there is no record at the place any more; then there are no others here either. */
  readonly isKept: boolean;
  readonly records: readonly LogRecord[];
}

/** The first `limit` records behind a place, by one read. */
export async function readLogBehind(
  tx: Reads,
  tenant: number,
  place: LogPlace,
  limit: number,
): Promise<LogNews> {
  const range = { begin: keyOf(tenant, place), end: keys.commitLog(tenant).end };
  const [first, ...behind] = await tx.getRange(range, { limit: limit + 1 });
  if (first === undefined || placeOf(tenant, first.key) !== place) {
    return { isKept: false, records: [] };
  }
  return { isKept: true, records: behind.map((pair) => toRecord(tenant, pair)) };
}

/** The place of the newest record; undefined if the log is empty. */
export async function lastLogPlace(tx: Reads, tenant: number): Promise<LogPlace | undefined> {
  const options = { limit: 1, reverse: true, keysOnly: true };
  const [last] = await tx.getRange(keys.commitLog(tenant), options);
  return last && placeOf(tenant, last.key);
}

/** Whether anything is behind a place, up to another one. */
export async function hasLogged(
  tx: Reads,
  tenant: number,
  after: LogPlace,
  until?: LogPlace,
): Promise<boolean> {
  if (until !== undefined && until <= after) return false;
  const range = rangeOf(tenant, after, until);
  return (await tx.getRange(range, { limit: 1, keysOnly: true })).length > 0;
}

function rangeOf(tenant: number, after: LogPlace, until: LogPlace | undefined): KeyRange {
  const begin = keyAfter(keyOf(tenant, after));
  const end = until === undefined ? keys.commitLog(tenant).end : keyAfter(keyOf(tenant, until));
  return { begin, end };
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

/** What a transaction did to a stream. */
export type LogEntry =
  /** Appended `count` events from the index `first`. */
  | {
    readonly kind: "appended";
    readonly stream: StreamKey;
    readonly first: number;
    readonly count: number;
  }
  /** Replaced the stream's events with erasure markers. */
  | { readonly kind: "erased"; readonly stream: StreamKey }
  /** Nothing new: for readers of states that had not seen earlier events of the stream. */
  | { readonly kind: "touched"; readonly stream: StreamKey };

/** Adds events to a log; to its last entry, if they go on where that ends. */
export function addToLog(log: LogEntry[], stream: StreamKey, first: number, count: number): void {
  const last = log.at(-1);
  if (last?.kind === "appended" && last.stream === stream && last.first + last.count === first) {
    log[log.length - 1] = { ...last, count: last.count + count };
  } else log.push({ kind: "appended", stream, first, count });
}

const FORMAT = 1;
const KINDS = ["appended", "erased", "touched"] as const;
const KIND_MASK = 3;
const SAME_TYPE = 4;
const UUID_ID = 8;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const UUID_BYTES = 16;
/** Flags, lengths and two numbers. */
const ENTRY_OVERHEAD_BYTES_MAX = 1 + 2 * 5 + 2 * 8;

const decoder = new TextDecoder();

/** Encodes as many leading entries as fit into `bytesMax`, and at least one. */
export function encodeEntries(
  entries: readonly LogEntry[],
  bytesMax: number,
): { readonly record: Bytes; readonly count: number } {
  const parts: Bytes[] = [];
  let size = 1;
  let typeBefore: string | undefined;
  for (const entry of entries) {
    const { type, id } = splitStreamKey(entry.stream);
    const part = encodeEntry(entry, type === typeBefore ? undefined : type, id);
    if (parts.length > 0 && size + part.length > bytesMax) break;
    parts.push(part);
    size += part.length;
    typeBefore = type;
  }
  const record = newBytes(size);
  record[0] = FORMAT;
  let at = 1;
  for (const part of parts) {
    record.set(part, at);
    at += part.length;
  }
  return { record, count: parts.length };
}

function encodeEntry(entry: LogEntry, type: string | undefined, id: string): Bytes {
  const typeBytes = type === undefined ? undefined : utf8Of(type);
  const isUuid = UUID.test(id);
  const idBytes = isUuid ? undefined : utf8Of(id);
  const room = (typeBytes?.length ?? 0) + (idBytes?.length ?? UUID_BYTES);
  const bytes = newBytes(room + ENTRY_OVERHEAD_BYTES_MAX);
  const kind = KINDS.indexOf(entry.kind);
  bytes[0] = kind | (type === undefined ? SAME_TYPE : 0) | (isUuid ? UUID_ID : 0);
  let at = 1;
  if (typeBytes !== undefined) {
    if (typeBytes.length < 128) bytes[at++] = typeBytes.length;
    else at = putNumber(bytes, at, typeBytes.length);
    bytes.set(typeBytes, at);
    at += typeBytes.length;
  }
  if (idBytes === undefined) {
    bytes.subarray(at, at + UUID_BYTES).setFromHex(id.replaceAll("-", ""));
    at += UUID_BYTES;
  } else {
    at = putNumber(bytes, at, idBytes.length);
    bytes.set(idBytes, at);
    at += idBytes.length;
  }
  if (entry.kind === "appended") {
    const { first, count } = entry;
    if (first < 128) bytes[at++] = first;
    else at = putNumber(bytes, at, first);
    if (count < 128) bytes[at++] = count;
    else at = putNumber(bytes, at, count);
  }
  return bytes.subarray(0, at);
}

export function decodeEntries(record: Bytes): LogEntry[] {
  assert(record[0] === FORMAT, "a record of the commit log has its format");
  const entries: LogEntry[] = [];
  const from = { bytes: record, at: 1 };
  let type = "";
  while (from.at < record.length) {
    const flags = record[from.at++]!;
    if ((flags & SAME_TYPE) === 0) type = takeText(from);
    const id = (flags & UUID_ID) === 0 ? takeText(from) : takeUuid(from);
    const stream = streamKey(type, id);
    const kind = KINDS[flags & KIND_MASK];
    assert(kind !== undefined, "an entry of the commit log is of a known kind");
    if (kind === "appended") {
      const first = takeNumber(from);
      entries.push({ kind, stream, first, count: takeNumber(from) });
    } else entries.push({ kind, stream });
  }
  assert(from.at === record.length, "a record of the commit log ends with an entry");
  return entries;
}

/** Bytes, and how far they have been read. */
interface Reading {
  readonly bytes: Bytes;
  at: number;
}

function putNumber(bytes: Bytes, at: number, value: number): number {
  let rest = value;
  // Divided, because shifts have 32 bits only.
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes[at++] = (rest % 128) | 128;
  bytes[at++] = rest;
  return at;
}

function takeNumber(from: Reading): number {
  let value = 0;
  for (let weight = 1;; weight *= 128) {
    const byte = from.bytes[from.at++];
    assert(byte !== undefined, "a record of the commit log is whole");
    value += (byte & 127) * weight;
    if (byte < 128) return value;
  }
}

function takeText(from: Reading): string {
  const length = takeNumber(from);
  const text = decoder.decode(from.bytes.subarray(from.at, from.at + length));
  from.at += length;
  return text;
}

function takeUuid(from: Reading): string {
  const hex = from.bytes.subarray(from.at, from.at + UUID_BYTES).toHex();
  from.at += UUID_BYTES;
  const [a, b, c, d] = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return `${a}-${b}-${c}-${d}-${hex.slice(20)}`;
}
