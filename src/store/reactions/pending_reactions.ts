/**
 * Lists the pending reactions of one environment, source by source and page by page. The sources
 * are outbox entries, scheduled events, and running sagas. See docs/reference/reactions.md.
 */

import type { OutboxPlace, OutboxWork } from "../../domain/reaction/outbox_entry.ts";
import {
  type PendingView,
  viewEntry,
  viewPendingSaga,
  viewSchedule,
} from "../../domain/reaction/pending.ts";
import type { SagaState } from "../../domain/saga/instance.ts";
import type { Bytes, ReadTransaction } from "../../kv/engine.ts";
import { decodeSaga, listSagas, readStoredSaga, type SagaRecord } from "../sagas/sagas.ts";
import { openEntry } from "./entry_bytes.ts";
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
