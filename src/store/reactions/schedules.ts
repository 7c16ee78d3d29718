/**
 * Scheduled events until they fire, with their timers and the rules that cancel them. Firing and
 * cancelling both read the record, guarded, so that only one of them wins. See
 * docs/reference/reactions.md.
 */

import { parseEventId } from "../../domain/event.ts";
import type { CancelRule, Emission } from "../../domain/reaction/action.ts";
import type { StoredRoot } from "../../domain/reaction/root.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import {
  type Bytes,
  type KeyValue,
  kvLimits,
  type ReadTransaction,
  type Transaction,
} from "../../kv/engine.ts";
import { newBytes, utf8Of, viewOf } from "../../kv/slab.ts";
import { unpack } from "../../kv/tuple.ts";
import { type ErasedStream, takePage } from "../erased_copies.ts";
import { decodeRecord, encodeRecord } from "../json_record.ts";
import { keyAfter, keys } from "../keys.ts";
import { clearLargeValue, setLargeValue, wholeBytes, wholeValue } from "../large_value.ts";
import { clearTimer, setTimer, type Timer } from "../timers.ts";
import { type CancelReason, noteScheduled, noteScheduleEnd, type ScheduleEnd } from "../effects.ts";

export interface ScheduleRecord {
  /** A UUID. */
  readonly id: string;
  readonly emission: Emission;
  readonly cancelOn: readonly StoredCancelRule[];
  /** Milliseconds since 1970. */
  readonly createdMs: number;
  readonly fireAtMs: number;
  /** The event that scheduled it. */
  readonly by: { readonly key: string; readonly eventType: string; readonly streamId: string };
  readonly requestId: string;
  /** How often firing has failed, and when it is tried next: at first at `fireAtMs`. */
  readonly tries: number;
  readonly timerMs: number;
  /** The root whose budget it draws on; absent: that of the event that scheduled it. */
  readonly root?: StoredRoot;
}

export interface StoredCancelRule extends CancelRule {
  /** The rule's mark at that time: if the mark is another one now, the record is cancelled. */
  readonly mark: number;
}

type Reads = Pick<ReadTransaction, "get" | "getRange">;

/** Stored bytes of records in one page, and what the last of them is above it. */
const PAGE_BYTES = 256 * 1024;
/** A record of at most this many bytes is a small one, whose rules do not say its size. */
const SMALL_BYTES = 1024;
const SMALL = new Uint8Array(0);
const SIZE_BYTES = 4;
const decoder = new TextDecoder();

export function encodeSchedule(record: ScheduleRecord): Bytes {
  return encodeRecord(record);
}

export function storeSchedule(tx: Transaction, tenant: number, record: ScheduleRecord): void {
  keepSchedule(tx, tenant, record);
  setTimer(tx, scheduleTimer(tenant, record));
}

/** Stores a record without its timer: it does not fire before it has one. */
export function keepSchedule(tx: Transaction, tenant: number, record: ScheduleRecord): void {
  putSchedule(tx, tenant, record);
  noteScheduled(tx, tenant, record);
}

function putSchedule(tx: Transaction, tenant: number, record: ScheduleRecord): void {
  const value = encodeSchedule(record);
  setLargeValue(tx, tenant, keys.schedule(tenant, record.id), value);
  if (record.cancelOn.length === 0) return;
  const size = encodeSize(value.length);
  for (const { key, eventType } of record.cancelOn) {
    tx.set(keys.cancelRule(tenant, key, eventType, record.id), size);
  }
}

/** Removes a record with all that leads to it, and keeps how it has ended for a while. */
export function removeSchedule(
  tx: Transaction,
  tenant: number,
  record: ScheduleRecord,
  end: ScheduleEnd,
): void {
  const { fireAtMs, emission: { key, eventType } } = record;
  noteScheduleEnd(tx, tenant, record, { ...end, key, eventType, fireAtMs });
  clearSchedule(tx, tenant, record);
}

/** Puts a record that is tried again later into the place of the one before. */
export function replaceSchedule(
  tx: Transaction,
  tenant: number,
  before: ScheduleRecord,
  after: ScheduleRecord,
): void {
  clearSchedule(tx, tenant, before);
  putSchedule(tx, tenant, after);
  setTimer(tx, scheduleTimer(tenant, after));
}

function clearSchedule(tx: Transaction, tenant: number, record: ScheduleRecord): void {
  const key = keys.schedule(tenant, record.id);
  // Pieces are only looked for if there are some.
  if (isLarge(record)) clearLargeValue(tx, tenant, key);
  else tx.clear(key);
  clearTimer(tx, scheduleTimer(tenant, record));
  for (const { key, eventType } of record.cancelOn) {
    tx.clear(keys.cancelRule(tenant, key, eventType, record.id));
  }
}

/** Removes a record that will not be tried again, and keeps it for people to look at. */
export function parkSchedule(tx: Transaction, tenant: number, record: ScheduleRecord): void {
  clearSchedule(tx, tenant, record);
  const key = keys.parked(keys.schedule(tenant, record.id));
  setLargeValue(tx, tenant, key, encodeSchedule(record));
}

export async function readParkedSchedule(
  tx: Reads,
  tenant: number,
  id: string,
): Promise<ScheduleRecord | undefined> {
  const key = keys.parked(keys.schedule(tenant, id));
  const value = await tx.get(key);
  return value && await decode(tx, tenant, key, value);
}

export async function readSchedule(
  tx: Reads,
  tenant: number,
  id: string,
): Promise<ScheduleRecord | undefined> {
  const value = await readStoredSchedule(tx, tenant, id);
  return value && decodeRecord(value);
}

/** The bytes of a record, which may be large: {@link decodeSchedule} makes the record of them. */
export async function readStoredSchedule(
  tx: Reads,
  tenant: number,
  id: string,
): Promise<Bytes | undefined> {
  const key = keys.schedule(tenant, id);
  const value = await tx.get(key);
  return value && await wholeValue(tx, tenant, key, value);
}

export function decodeSchedule(value: Bytes): ScheduleRecord {
  return decodeRecord(value);
}

export interface SchedulePage {
  /** By id. */
  readonly records: readonly ScheduleRecord[];
  /** Whether no record follows. */
  readonly isLast: boolean;
}

/** Records by id as their bytes; {@link decodeSchedule} makes the record of each. */
export interface StoredSchedules {
  readonly found: readonly { readonly id: string; readonly value: Bytes }[];
  readonly isLast: boolean;
}

/**
 * Some records after the id `start`, those cancelled by a mark included: at most `limit`, and no
 * more than one piece of work. At least one, if there is any.
 */
export async function listSchedules(
  tx: Reads,
  tenant: number,
  page: { readonly start?: string; readonly limit: number },
): Promise<SchedulePage> {
  const { found, isLast } = await findSchedules(tx, tenant, page);
  return { records: found.map(({ value }) => decodeSchedule(value)), isLast };
}

/** The same page, not decoded yet, because that takes time in which others could have a turn. */
export async function findSchedules(
  tx: Reads,
  tenant: number,
  page: { readonly start?: string; readonly limit: number },
): Promise<StoredSchedules> {
  const range = keys.schedules(tenant);
  const begin = page.start === undefined
    ? range.begin
    : keyAfter(keys.schedule(tenant, page.start));
  const { limit } = page;
  const pairs = await tx.getRange({ begin, end: range.end }, { limit, bytesMax: PAGE_BYTES });
  const taken: KeyValue[] = [];
  let read = 0;
  let bytes = 0;
  for (const pair of pairs) {
    read += pair.key.length + pair.value.length;
    // The value may be the header of a large one, whose pieces are read when it is taken.
    if (bytes < PAGE_BYTES) taken.push(pair);
    bytes += wholeBytes(pair.value);
  }
  const isLast = taken.length === pairs.length && pairs.length < limit && read < PAGE_BYTES;
  const found = taken.map(async ({ key, value }) => (
    { id: unpack(key).at(-1) as string, value: await wholeValue(tx, tenant, key, value) }
  ));
  return { found: await Promise.all(found), isLast };
}

/** How many records a transaction may still cancel one by one, and bytes of the large ones. */
export interface CancelRoom {
  records: number;
  bytes: number;
}

/** Whether any event of that stream may cancel a record. Guarded. */
export async function hasCancelRules(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  stream: StreamKey,
): Promise<boolean> {
  return (await tx.getRange(keys.streamCancelRules(tenant, stream), { limit: 1 })).length > 0;
}

/**
 * The records that an event of that type in that stream cancels, without those that a mark has
 * cancelled already. All take their part of the room; undefined if there is none. Guarded.
 */
export async function findCancelled(
  tx: Reads,
  tenant: number,
  rule: CancelRule,
  room: CancelRoom,
): Promise<ScheduleRecord[] | undefined> {
  const { key: stream, eventType } = rule;
  const limit = Math.max(0, room.records) + 1;
  const pairs = await tx.getRange(keys.cancelRules(tenant, stream, eventType), { limit });
  const bytes = pairs.reduce((sum, { value }) => sum + decodeSize(value), 0);
  if (pairs.length === limit || bytes > room.bytes) return undefined;
  room.records -= pairs.length;
  room.bytes -= bytes;
  if (pairs.length === 0) return [];
  const ids = pairs.map(({ key }) => unpack(key).at(-1) as string);
  const [mark, records] = await Promise.all([
    readCancelMark(tx, tenant, rule),
    Promise.all(ids.map((id) => readSchedule(tx, tenant, id))),
  ]);
  const isOfRule = (one: StoredCancelRule) => one.key === stream && one.eventType === eventType;
  return records.filter((record) => record !== undefined)
    .filter(({ cancelOn }) => cancelOn.some((one) => isOfRule(one) && one.mark === mark));
}

/** What a rule says about the size of its record: nothing if that is small. */
function encodeSize(bytes: number): Bytes {
  if (bytes <= SMALL_BYTES) return SMALL;
  const size = newBytes(SIZE_BYTES);
  viewOf(size).setUint32(0, bytes);
  return size;
}

/** 0 for a small record. */
function decodeSize(value: Bytes): number {
  return value.length < SIZE_BYTES ? 0 : viewOf(value).getUint32(0);
}

/** How often all records of a rule were cancelled at once. Guarded. */
export async function readCancelMark(
  tx: Pick<ReadTransaction, "get">,
  tenant: number,
  { key: stream, eventType }: CancelRule,
): Promise<number> {
  const value = await tx.get(keys.cancelMark(tenant, stream, eventType));
  return value === undefined ? 0 : Number(decoder.decode(value));
}

/**
 * Cancels all records of a rule at once. They stay stored until their time with their rules, which
 * may be a million, but {@link isCancelled} reports them as gone.
 */
export function moveCancelMark(
  tx: Transaction,
  tenant: number,
  { key: stream, eventType }: CancelRule,
  mark: number,
): void {
  tx.set(keys.cancelMark(tenant, stream, eventType), utf8Of(String(mark)));
}

/** Whether a record that is still stored was cancelled by a mark. Guarded. */
export async function isCancelled(
  tx: Pick<ReadTransaction, "get">,
  tenant: number,
  record: ScheduleRecord,
): Promise<boolean> {
  return await findCancelling(tx, tenant, record) !== undefined;
}

/** The rule whose mark has cancelled a record that is still stored. Guarded. */
export async function findCancelling(
  tx: Pick<ReadTransaction, "get">,
  tenant: number,
  { cancelOn }: ScheduleRecord,
): Promise<CancelRule | undefined> {
  if (cancelOn.length === 0) return undefined;
  const marks = await Promise.all(cancelOn.map((rule) => readCancelMark(tx, tenant, rule)));
  return cancelOn.find(({ mark }, index) => mark !== marks[index]);
}

/** That an event of the rule has cancelled a record; `streamId` tells which one, if it is known. */
export function cancelledBy(
  { key, eventType }: CancelRule,
  atMs: number,
  streamId?: string,
): ScheduleEnd {
  const by = { reason: "event", key, event_type: eventType } as const;
  const known = streamId === undefined ? by : { ...by, stream_id: streamId };
  return { state: "cancelled", atMs, by: known };
}

/** That a record was cancelled for another reason. */
export function cancelledFor(reason: Exclude<CancelReason, "event">, atMs: number): ScheduleEnd {
  return { state: "cancelled", atMs, by: { reason } };
}

/** The name of a rule within its tenant. */
export function ruleName(stream: StreamKey, eventType: string): string {
  return `${stream} ${eventType}`;
}

export function scheduleTimer(tenant: number, { id, timerMs }: ScheduleRecord): Timer {
  return { dueMs: timerMs, tenant, kind: "scheduled", id };
}

async function decode(tx: Reads, tenant: number, key: Bytes, value: Bytes) {
  return decodeSchedule(await wholeValue(tx, tenant, key, value));
}

/** Whether the record is stored in pieces. */
function isLarge(record: ScheduleRecord): boolean {
  return encodeSchedule(record).length > kvLimits.valueBytesMax;
}

/**
 * Removes the next scheduled events that an erased stream has set off, or that were to be
 * written to it.
 */
export async function removeStreamSchedules(
  tx: Transaction,
  erased: ErasedStream,
  after: Bytes | undefined,
): Promise<Bytes | undefined> {
  const { tenant } = erased;
  return await takePage(tx, keys.schedules(tenant), after, async ({ key, value }) => {
    const found = await decode(tx.unguarded, tenant, key, value);
    if (!isOfErased(found, erased)) return;
    // Guarded, because it may fire just now, or be put off.
    const record = await readSchedule(tx, tenant, found.id);
    const end = cancelledFor("erased", erased.erasedMs);
    if (record !== undefined) removeSchedule(tx, tenant, record, end);
  });
}

/** Like {@link removeStreamSchedules}, for records that are parked. */
export async function removeParkedSchedules(
  tx: Transaction,
  erased: ErasedStream,
  after: Bytes | undefined,
): Promise<Bytes | undefined> {
  const { tenant } = erased;
  const all = keys.schedules(tenant);
  const range = { begin: keys.parked(all.begin), end: keys.parked(all.end) };
  return await takePage(tx, range, after, async ({ key, value }) => {
    const record = await decode(tx.unguarded, tenant, key, value);
    if (!isOfErased(record, erased)) return;
    clearLargeValue(tx, tenant, key);
    noteScheduleEnd(tx, tenant, record, undefined);
  });
}

/** Leaves out what was scheduled since the erasure. */
function isOfErased(
  { by, emission, createdMs }: ScheduleRecord,
  { stream, length, erasedMs }: ErasedStream,
): boolean {
  if (by.key === stream) return (parseEventId(by.streamId) ?? 0) < length;
  return emission.key === stream && createdMs <= erasedMs;
}
