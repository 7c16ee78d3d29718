/**
 * Lists the pending reactions of one environment, source by source and page by page. The sources
 * are outbox entries, scheduled events, and running sagas. See docs/reference/reactions.md.
 *
 * Pending work is also measured without decoding it: its size as it is stored, and since when it
 * waits. Records may be large, and counting thousands of them must cost little.
 */

import { Buffer } from "node:buffer";
import { QUEUE_SHARDS } from "../../domain/fairness/work_share.ts";
import type { OutboxPlace, OutboxWork, WaitingEntry } from "../../domain/reaction/outbox_entry.ts";
import {
  type PendingKind,
  type PendingView,
  viewEntry,
  viewPendingSaga,
  viewSchedule,
} from "../../domain/reaction/pending.ts";
import type { SagaState } from "../../domain/saga/instance.ts";
import type { SagaSummary } from "../../domain/saga/view.ts";
import type { Bytes, KeyRange, KeyValue, ReadTransaction } from "../../kv/engine.ts";
import { decodeRecord } from "../json_record.ts";
import { keyAfter, keys } from "../keys.ts";
import { wholeBytes, wholeValue } from "../large_value.ts";
import {
  ALL_SAGAS,
  decodeSaga,
  listSagas,
  readStoredSaga,
  type SagaRecord,
} from "../sagas/sagas.ts";
import { entryTimes, isEmission, openEntry } from "./entry_bytes.ts";
import { wholeEntry } from "./outbox.ts";
import { decodeSchedule, findSchedules, type ScheduleRecord } from "./schedules.ts";
import { findTenantOutbox } from "./tenant_outbox.ts";

/** The reaction after which to go on; without `after`, the first one of that source. */
export type PendingPlace =
  | { readonly source: "outbox"; readonly after?: Omit<OutboxPlace, "tenant"> }
  | { readonly source: "schedules"; readonly after?: string }
  | { readonly source: "sagas"; readonly state: SagaState; readonly after?: string };

/** A pending reaction as it was read. It is not decoded yet, because it may be large. */
export interface PendingPiece {
  readonly bytes: number;
  readonly place: PendingPlace;
  open(): PendingReaction;
}

/** A pending reaction as it is stored, with how it is shown. */
export interface PendingReaction {
  readonly view: PendingView;
  readonly work?: OutboxWork;
  readonly schedule?: ScheduleRecord;
  readonly saga?: SagaRecord;
}

export interface PendingPage {
  readonly pieces: readonly PendingPiece[];
  /** Undefined at the end. */
  readonly next: PendingPlace | undefined;
}

type Reads = Pick<ReadTransaction, "get" | "getRange">;

/** The beginning of each source, in their order. */
export const PENDING_SOURCES: readonly PendingPlace[] = [
  { source: "outbox" },
  { source: "schedules" },
  { source: "sagas", state: "running" },
  { source: "sagas", state: "compensating" },
];
/** Bytes of each shard of the outbox in one page. */
const SHARD_BYTES_MAX = 64 * 1024;
/** Bytes of sagas in one page, and what the last of them is above it. */
const SAGAS_BYTES_MAX = 1024 * 1024;

/** The next pending reactions, about `limit` of them, from one source. */
export function listPendingReactions(
  tx: Reads,
  tenant: number,
  place: PendingPlace,
  limit: number,
): Promise<PendingPage> {
  if (place.source === "outbox") return listEntries(tx, tenant, place, limit);
  if (place.source === "schedules") return listScheduled(tx, tenant, place, limit);
  return listRunning(tx, tenant, place, limit);
}

/** Where the source after that of `place` begins. */
export function nextSource(place: PendingPlace): PendingPlace | undefined {
  const at = PENDING_SOURCES.findIndex((first) =>
    first.source === place.source &&
    (first.source !== "sagas" || place.source !== "sagas" || first.state === place.state)
  );
  return PENDING_SOURCES[at + 1];
}

async function listEntries(
  tx: Reads,
  tenant: number,
  { after }: Extract<PendingPlace, { source: "outbox" }>,
  limit: number,
): Promise<PendingPage> {
  const from = after && { tenant, ...after };
  const { works, isLast } = await findTenantOutbox(tx, tenant, {
    after: from,
    limit,
    shardBytesMax: SHARD_BYTES_MAX,
  });
  const wholes = await Promise.all(works.map((work) => wholeEntry(tx, work)));
  const pieces = works.map((work, at) => pieceOfEntry(work.place, wholes[at]!));
  return { pieces, next: isLast ? nextSource({ source: "outbox" }) : pieces.at(-1)!.place };
}

function pieceOfEntry(at: OutboxPlace, whole: Bytes): PendingPiece {
  const { stream, index, number } = at;
  return {
    bytes: whole.length,
    place: { source: "outbox", after: { stream, index, number } },
    open() {
      const work = openEntry(at, whole);
      return { view: viewEntry(work), work };
    },
  };
}

async function listScheduled(
  tx: Reads,
  tenant: number,
  place: Extract<PendingPlace, { source: "schedules" }>,
  limit: number,
): Promise<PendingPage> {
  const { after: start } = place;
  const page = { limit, ...(start !== undefined && { start }) };
  const { found, isLast } = await findSchedules(tx, tenant, page);
  const pieces = found.map(({ id, value }): PendingPiece => ({
    bytes: value.length,
    place: { source: "schedules", after: id },
    open() {
      const schedule = decodeSchedule(value);
      return { view: viewSchedule(schedule), schedule };
    },
  }));
  return { pieces, next: isLast ? nextSource(place) : pieces.at(-1)!.place };
}

async function listRunning(
  tx: Reads,
  tenant: number,
  place: Extract<PendingPlace, { source: "sagas" }>,
  limit: number,
): Promise<PendingPage> {
  const { state, after: start } = place;
  const page = { limit, ...(start !== undefined && { start }) };
  const found = await listSagas(tx, tenant, { state }, page);
  const pieces: PendingPiece[] = [];
  let total = 0;
  for (const { saga_id } of found) {
    if (total >= SAGAS_BYTES_MAX) return { pieces, next: pieces.at(-1)!.place };
    const value = await readStoredSaga(tx, tenant, saga_id);
    if (value === undefined) continue;
    total += value.length;
    pieces.push(pieceOfSaga({ ...place, after: saga_id }, value));
  }
  const last = found.at(-1);
  if (found.length < limit || last === undefined) return { pieces, next: nextSource(place) };
  return { pieces, next: { ...place, after: last.saga_id } };
}

function pieceOfSaga(place: PendingPlace, value: Bytes): PendingPiece {
  return {
    bytes: value.length,
    place,
    open() {
      const saga = decodeSaga(value);
      return { view: viewPendingSaga(saga), saga };
    },
  };
}

export interface MeasuredReaction {
  readonly kind: PendingKind | "delivery";
  /** Size as stored. */
  readonly bytes: number;
  /** Milliseconds since 1970; absent for a delivery. */
  readonly sinceMs?: number;
}

export interface MeasuredPage {
  readonly measured: readonly MeasuredReaction[];
  /** Undefined at the end. */
  readonly next: MeasuredPlace | undefined;
}

/** The key of a source after which to go on; without `after`, its first one. */
export interface MeasuredPlace {
  readonly source: number;
  readonly after?: Bytes;
}

/** Where work of one kind of record waits. */
export interface MeasuredSource {
  rangeOf(tenant: number): KeyRange;
  measure(tx: Reads, tenant: number, pair: KeyValue): Promise<MeasuredReaction>;
}

/** Sources that are counted together, and the kinds of work that are in them. */
export interface MeasuredGroup {
  readonly kinds: readonly MeasuredReaction["kind"][];
  readonly sources: readonly MeasuredSource[];
}

const OUTBOX_SHARDS = Array.from({ length: QUEUE_SHARDS.outbox }, (_, shard) => shard);

export const MEASURED_GROUPS: readonly MeasuredGroup[] = [
  { kinds: ["implied", "saga"], sources: OUTBOX_SHARDS.map(entriesIn) },
  { kinds: ["scheduled"], sources: [{ rangeOf: keys.schedules, measure: measureSchedule }] },
  { kinds: ["saga"], sources: [sagasIn("running"), sagasIn("compensating")] },
  { kinds: ["delivery"], sources: [{ rangeOf: keys.deliveries, measure: measureDelivery }] },
];

/** Measured in one page: at most so many, and bytes of them without the last. */
const AT_A_TIME = 100;
const PAGE_BYTES = 256 * 1024;

/** The next work in the sources of a group, one source after the other. */
export async function measureReactions(
  tx: Reads,
  tenant: number,
  { sources }: MeasuredGroup,
  place: MeasuredPlace,
): Promise<MeasuredPage> {
  const measured: MeasuredReaction[] = [];
  let bytes = 0;
  let { after } = place;
  for (let source = place.source; source < sources.length; source++) {
    const { rangeOf, measure } = sources[source]!;
    const { begin, end } = rangeOf(tenant);
    const range = { begin: after === undefined ? begin : keyAfter(after), end };
    const bounds = { limit: AT_A_TIME - measured.length, bytesMax: PAGE_BYTES };
    for (const pair of await tx.getRange(range, bounds)) {
      const one = await measure(tx, tenant, pair);
      measured.push(one);
      // A record may be larger than the pair that leads to it.
      bytes += pair.key.length + Math.max(pair.value.length, one.bytes);
      const isFull = measured.length >= AT_A_TIME || bytes >= PAGE_BYTES;
      if (isFull) return { measured, next: { source, after: pair.key } };
    }
    after = undefined;
  }
  return { measured, next: undefined };
}

function entriesIn(shard: number): MeasuredSource {
  return { rangeOf: (tenant) => keys.tenantOutbox(shard, tenant), measure: measureEntry };
}

async function measureEntry(
  tx: Reads,
  tenant: number,
  { key, value }: KeyValue,
): Promise<MeasuredReaction> {
  const whole = await wholeValue(tx, tenant, key, value);
  const { sinceMs } = entryTimes(whole);
  // What a saga is to be shown is small.
  const isImplied = isEmission(whole) || decodeRecord<WaitingEntry>(whole).entry.kind === "emit";
  return { kind: isImplied ? "implied" : "saga", bytes: whole.length, sinceMs };
}

async function measureSchedule(
  tx: Reads,
  tenant: number,
  { key, value }: KeyValue,
): Promise<MeasuredReaction> {
  const whole = await wholeValue(tx, tenant, key, value);
  return { kind: "scheduled", bytes: whole.length, sinceMs: createdMsOf(whole) };
}

/** How the time of a scheduled event begins. Behind its data, nothing else begins like this. */
const CREATED = Buffer.from('"createdMs":');
const TIME_CHARACTERS_MAX = 15;
const decoder = new TextDecoder();

/** When a scheduled event was set off, from its last bytes. */
function createdMsOf(whole: Bytes): number {
  const at = Buffer.from(whole.buffer, whole.byteOffset, whole.length).lastIndexOf(CREATED);
  const begin = at + CREATED.length;
  const text = decoder.decode(whole.subarray(begin, begin + TIME_CHARACTERS_MAX));
  const createdMs = at < 0 ? NaN : Number.parseInt(text, 10);
  return Number.isNaN(createdMs) ? decodeSchedule(whole).createdMs : createdMs;
}

function sagasIn(state: SagaState): MeasuredSource {
  return {
    rangeOf: (tenant) => keys.sagaList(tenant, ALL_SAGAS, state),
    async measure(tx, tenant, { value }) {
      const { saga_id, started_at } = decodeRecord<SagaSummary>(value);
      const record = await tx.get(keys.saga(tenant, saga_id));
      const bytes = record === undefined ? 0 : wholeBytes(record);
      return { kind: "saga", bytes, sinceMs: started_at * 1000 };
    },
  };
}

function measureDelivery(_: Reads, __: number, { value }: KeyValue): Promise<MeasuredReaction> {
  return Promise.resolve({ kind: "delivery", bytes: value.length });
}
