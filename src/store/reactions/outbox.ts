/**
 * The outbox, which holds what written events have set off until it is done. The transaction of
 * an event puts its entries in. The transaction that does the work of an entry first reads it
 * and then removes it, so the work is done exactly once, whoever tries. See
 * docs/reference/reactions.md.
 */

import type { OutboxPlace, OutboxWork, WaitingEntry } from "../../domain/reaction/outbox_entry.ts";
import type { Pieces } from "../../domain/fairness/pieces.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import { shardOf } from "../../domain/fairness/work_share.ts";
import {
  type Bytes,
  type KeyRange,
  kvLimits,
  type ReadTransaction,
  type Transaction,
} from "../../kv/engine.ts";
import { unpack } from "../../kv/tuple.ts";
import { clearPage, type ErasedStream } from "../erased_copies.ts";
import { decodeRecord } from "../json_record.ts";
import { keyAfter, keys } from "../keys.ts";
import { encodeEntry, isEmission, openEntry } from "./entry_bytes.ts";
import {
  clearLargeValue,
  isInPieces,
  setLargeValue,
  wholeBytes,
  wholeValue,
} from "../large_value.ts";

export interface OutboxPage {
  readonly works: readonly OutboxWork[];
  /** Where the next page begins; undefined after the last one. */
  readonly next: Bytes | undefined;
}

/** An entry as it was read. What it is about is not decoded yet, because it may be large. */
export interface UnreadEntry {
  readonly place: OutboxPlace;
  /** Size of the whole entry in bytes. */
  readonly bytes: number;
  /** What is stored under its key: of an entry in pieces, their header. */
  readonly value: Bytes;
}

export interface FoundPage {
  readonly works: readonly UnreadEntry[];
  readonly next: Bytes | undefined;
}

/** Pages are limited in bytes too, because entries may be large. */
const PAGE_BYTES_MAX = 1024 * 1024;

export function outboxShard({ tenant, stream }: OutboxPlace): number {
  return shardOf("outbox", `${tenant}/${stream}`);
}

/** Adds an entry with the bytes from {@link encodeEntry}. */
export function putEntry(tx: Transaction, place: OutboxPlace, value: Bytes): void {
  setLargeValue(tx, place.tenant, outboxKey(place), value);
}

/** Tells watchers that there is work which its writer does not do itself. */
export function signalOutbox(tx: Transaction): void {
  tx.add(keys.outboxSignal(), 1n);
}

/** Whether an entry is still to be done. Guarded: the transaction that does it asks this. */
export async function hasEntry(
  tx: Pick<ReadTransaction, "get">,
  place: OutboxPlace,
): Promise<boolean> {
  return await tx.get(outboxKey(place)) !== undefined;
}

/** Removes an entry that is done. */
export function clearEntry(tx: Transaction, work: OutboxWork): void {
  const key = outboxKey(work.place);
  // Pieces are only looked for if there are some.
  if (work.bytes > kvLimits.valueBytesMax) clearLargeValue(tx, work.place.tenant, key);
  else tx.clear(key);
}

/** Puts an entry back for another attempt. */
export function replaceEntry(tx: Transaction, before: OutboxWork, after: WaitingEntry): void {
  clearEntry(tx, before);
  putEntry(tx, before.place, encodeEntry(after));
}

/** Removes an entry that will not be tried again, and keeps it for people to look at. */
export function parkEntry(tx: Transaction, work: OutboxWork): void {
  clearEntry(tx, work);
  const key = keys.parked(outboxKey(work.place));
  setLargeValue(tx, work.place.tenant, key, encodeEntry(work));
}

export interface OutboxRead {
  readonly start?: Bytes;
  readonly limit: number;
  readonly bytesMax?: number;
}

/**
 * Entries of one shard, from `start` on: at most `limit`, and about `bytesMax` bytes of them,
 * but at least one.
 */
export async function findOutbox(
  tx: Pick<ReadTransaction, "getRange">,
  shard: number,
  { start, limit, bytesMax = PAGE_BYTES_MAX }: OutboxRead,
): Promise<FoundPage> {
  const { begin, end } = keys.outboxes(shard);
  const range = { begin: start ?? begin, end };
  const pairs = await tx.getRange(range, { limit, bytesMax });
  const works: UnreadEntry[] = [];
  let bytes = 0;
  let last: Bytes | undefined;
  for (const { key, value } of pairs) {
    // A value in pieces is small here, and large when it is put together.
    bytes += wholeBytes(value) + key.length;
    if (last !== undefined && bytes > bytesMax) return { works, next: keyAfter(last) };
    works.push({ place: placeOf(key), bytes: wholeBytes(value), value });
    last = key;
  }
  // Fewer than asked for may also mean that they were large.
  const isLast = last === undefined || (pairs.length < limit && bytes < bytesMax);
  return { works, next: isLast ? undefined : keyAfter(last!) };
}

/** The same page with its entries decoded. */
export async function listOutbox(
  tx: Pick<ReadTransaction, "getRange">,
  shard: number,
  read: OutboxRead,
): Promise<OutboxPage> {
  const { works, next } = await findOutbox(tx, shard, read);
  const opened: OutboxWork[] = [];
  for (const each of works) opened.push(openEntry(each.place, await wholeEntry(tx, each)));
  return { works: opened, next };
}

/** All bytes of an entry. */
export async function wholeEntry(
  tx: Pick<ReadTransaction, "getRange">,
  { place, value }: UnreadEntry,
): Promise<Bytes> {
  return isInPieces(value) ? await wholeValue(tx, place.tenant, outboxKey(place), value) : value;
}

/** Entries that one event has set off and that are not done. */
export interface StreamEntries {
  readonly found: readonly UnreadEntry[];
  /** Whether there may be more. */
  readonly isCut: boolean;
}

/** At most `limit`, or fewer if they are large. */
export async function listStreamEntries(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  { stream, index }: Pick<OutboxPlace, "stream" | "index">,
  limit: number,
): Promise<StreamEntries> {
  const shard = outboxShard({ tenant, stream, index, number: 0 });
  const begin = keys.outbox(shard, tenant, stream, index, 0);
  const end = keys.outbox(shard, tenant, stream, index + 1, 0);
  const pairs = await tx.getRange({ begin, end }, { limit, bytesMax: PAGE_BYTES_MAX });
  let bytes = 0;
  for (const { key, value } of pairs) bytes += key.length + value.length;
  const found = pairs.map(({ key, value }) => {
    return { place: placeOf(key), bytes: wholeBytes(value), value };
  });
  return { found, isCut: pairs.length === limit || bytes >= PAGE_BYTES_MAX };
}

function placeOf(key: Bytes): OutboxPlace {
  const [tenant, stream, index, number] = unpack(key).slice(-4) as [
    number,
    StreamKey,
    number,
    number,
  ];
  return { tenant, stream, index, number };
}

/** Entries of some tenants of a shard, and the tenant after which to go on. */
export interface OutboxTurn {
  readonly works: readonly UnreadEntry[];
  /** 0: start again at the first one. */
  readonly after: number;
}

export interface OutboxTurnBounds {
  readonly each: number;
  readonly reads: number;
  readonly bytesMax?: number;
  /** Others run between the reads. */
  readonly pieces?: Pieces;
}

/**
 * The first entries of tenants after the number `after`: about `each` for each tenant, in at
 * most `reads` reads and about `bytesMax` bytes, however much any of them has. The read that
 * reaches so many bytes is the last one.
 */
export async function listOutboxTurn(
  tx: Pick<ReadTransaction, "getRange">,
  shard: number,
  after: number,
  { each, reads, bytesMax = PAGE_BYTES_MAX, pieces }: OutboxTurnBounds,
): Promise<OutboxTurn> {
  const bytesEach = Math.ceil(bytesMax / reads);
  const works: UnreadEntry[] = [];
  let tenant = after;
  let bytes = 0;
  for (let read = 0; read < reads && bytes < bytesMax; read++) {
    const start = keys.tenantOutbox(shard, tenant + 1).begin;
    const page = await findOutbox(tx, shard, { start, limit: each, bytesMax: bytesEach });
    const last = page.works.at(-1);
    if (last === undefined) return { works, after: 0 };
    works.push(...page.works);
    bytes += page.works.reduce((sum, work) => sum + work.bytes, 0);
    tenant = last.place.tenant;
    await pieces?.rest();
  }
  return { works, after: tenant };
}

/** How many entries wait in a shard, counted up to `countMax`, or to fewer if they are large. */
export async function countOutbox(
  tx: Pick<ReadTransaction, "getRange">,
  shard: number,
  countMax: number,
): Promise<number> {
  const bounds = { limit: countMax, bytesMax: PAGE_BYTES_MAX };
  return (await tx.getRange(keys.outboxes(shard), bounds)).length;
}

function outboxKey(place: OutboxPlace): Bytes {
  const { tenant, stream, index, number } = place;
  return keys.outbox(outboxShard(place), tenant, stream, index, number);
}

/** Removes the pending entries that the events of an erased stream have set off. */
export async function removeStreamEntries(
  tx: Transaction,
  { tenant, stream, length }: ErasedStream,
): Promise<Bytes | undefined> {
  return await clearPage(tx, tenant, entriesUpTo(tenant, stream, length));
}

/** Like {@link removeStreamEntries}, for entries that are parked. */
export async function removeParkedEntries(
  tx: Transaction,
  { tenant, stream, length }: ErasedStream,
): Promise<Bytes | undefined> {
  const { begin, end } = entriesUpTo(tenant, stream, length);
  return await clearPage(tx, tenant, { begin: keys.parked(begin), end: keys.parked(end) });
}

function entriesUpTo(tenant: number, stream: StreamKey, length: number): KeyRange {
  const shard = outboxShard({ tenant, stream, index: 0, number: 0 });
  const begin = keys.outbox(shard, tenant, stream, 0, 0);
  return { begin, end: keys.outbox(shard, tenant, stream, length, 0) };
}

/** Most entries of one stream that are looked through, and bytes of them in one piece. */
const ENTRIES_MAX = 1_000;
const LOOKED_BYTES_MAX = 256 * 1024;
/** No event has this index. */
const INDEX_END = Number.MAX_SAFE_INTEGER;

interface AwaitedEvents {
  readonly key: StreamKey;
  readonly eventTypes: readonly string[];
  /** Index of the first event that counts. */
  readonly from: number;
}

/**
 * Index of the first awaited event that is written and waits to be shown to the sagas. A saga
 * whose time is over looks here first, so that the order of commits decides, not how far the
 * workers are. Guarded: a write meanwhile conflicts. With `pieces`, others run between the pages.
 */
export async function findArrival(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  { key: stream, eventTypes, from }: AwaitedEvents,
  pieces?: Pieces,
): Promise<number | undefined> {
  const shard = outboxShard({ tenant, stream, index: from, number: 0 });
  const begin = keys.outbox(shard, tenant, stream, from, 0);
  const end = keys.outbox(shard, tenant, stream, INDEX_END, 0);
  let start = begin;
  let left = ENTRIES_MAX;
  while (left > 0) {
    const bounds = { limit: left, bytesMax: LOOKED_BYTES_MAX };
    const pairs = await tx.getRange({ begin: start, end }, bounds);
    let bytes = 0;
    for (const { key, value } of pairs) {
      bytes += key.length + value.length;
      if (isShown(value, eventTypes)) return unpack(key).at(-2) as number;
    }
    // Fewer than asked for may also mean that they were large.
    if (pairs.length < left && bytes < LOOKED_BYTES_MAX) return undefined;
    left -= pairs.length;
    start = keyAfter(pairs.at(-1)!.key);
    await pieces?.rest();
  }
  return undefined;
}

/** Whether a stored entry shows an event of one of these types to the sagas. */
function isShown(value: Bytes, eventTypes: readonly string[]): boolean {
  // An event to be written may be large, so it is not decoded.
  if (isEmission(value)) return false;
  const { entry } = decodeRecord<WaitingEntry>(value);
  return entry.kind === "sagas" && eventTypes.includes(entry.eventType);
}
