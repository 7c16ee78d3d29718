/**
 * Reads an environment's pending work as texts for a file. These are outbox entries, scheduled
 * events, deliveries, sagas, the definitions that running sagas need, projections (which are
 * built anew) and erasure requests.
 *
 * All of it changes and goes away. So what was read in several transactions belongs to one
 * moment only if reading it again gives the same result. That check is sound: an item that was
 * changed never returns to an earlier value, and one that came and went did so with an event.
 */

import type { OutboxPlace } from "../../domain/reaction/outbox_entry.ts";
import { neededDefinition } from "../../domain/transfer/parse_work.ts";
import {
  type MovedDefinition,
  type MovedDelivery,
  type MovedEntry,
  type MovedProjection,
  type MovedSaga,
  type MovedSchedule,
  movedTombstone,
  WORK_KINDS,
  type WorkKind,
  type WorkText,
} from "../../domain/transfer/work.ts";
import type { Host } from "../../host.ts";
import type { ReadTransaction } from "../../kv/engine.ts";
import { listTenantDeliveries } from "../../store/listeners/deliveries.ts";
import { listProjections, newestVersion } from "../../store/projections/projections.ts";
import { listSagaRecords, readSagaDefinition } from "../../store/sagas/sagas.ts";
import {
  isCancelled,
  listSchedules,
  type ScheduleRecord,
} from "../../store/reactions/schedules.ts";
import { walkTombstones } from "../../store/tombstones.ts";
import { listTenantOutbox } from "../../store/reactions/tenant_outbox.ts";

/** Where a scan continues: after an item of one kind, or at the first one of it. */
export interface WorkPlace {
  readonly kind: WorkKind;
  readonly after?: string | OutboxPlace | MovedDelivery;
  /** Definitions that the sagas read so far need. */
  readonly definitions: ReadonlySet<string>;
}

/** What one transaction saw, in order. */
export interface WorkSegment {
  readonly texts: readonly WorkText[];
  /** Undefined at the end. */
  readonly next: WorkPlace | undefined;
}

interface Page {
  readonly texts: readonly WorkText[];
  readonly next: WorkPlace | undefined;
}

type Reader = (
  tx: ReadTransaction,
  tenant: number,
  place: WorkPlace,
  batch: number,
) => Promise<Page>;

export const WORK_BEGIN: WorkPlace = { kind: WORK_KINDS[0], definitions: new Set() };

/** Items asked for at a time; they may be large. */
const BATCH_MAX = 200;
/** Characters per transaction, because they are kept in memory. */
const CHARACTERS_MAX = 32 * 1024 * 1024;

export interface WorkScan {
  readonly place: WorkPlace;
  readonly limits: SegmentLimits;
  readonly endMs: number;
}

/** Reads the next items from `place` on, until `endMs` at most. */
export async function scanWork(
  tx: ReadTransaction,
  host: Host,
  tenant: number,
  { place, limits, endMs }: WorkScan,
): Promise<WorkSegment> {
  const texts: WorkText[] = [];
  const batch = Math.min(limits.batch, BATCH_MAX);
  let characters = 0;
  let next: WorkPlace | undefined = place;
  while (next !== undefined) {
    const isFull = texts.length >= limits.heads || characters >= CHARACTERS_MAX;
    if (isFull || host.nowMs() >= endMs) break;
    const page: Page = await readers[next.kind](tx, tenant, next, batch);
    for (const each of page.texts) {
      texts.push(each);
      characters += each.text.length;
    }
    next = page.next;
  }
  return { texts, next };
}

const readers: Readonly<Record<WorkKind, Reader>> = {
  outbox_entry: readEntries,
  scheduled_event: readSchedules,
  delivery: readDeliveries,
  saga: readSagas,
  saga_definition: readDefinitions,
  projection: readProjections,
  tombstone: readTombstones,
};

async function readEntries(
  tx: ReadTransaction,
  tenant: number,
  place: WorkPlace,
  batch: number,
): Promise<Page> {
  const after = place.after as OutboxPlace | undefined;
  const { works, isLast } = await listTenantOutbox(tx, tenant, { after, limit: batch });
  const texts = works.map(({ place: { stream, index, number }, ...work }) => {
    const { entry, sinceMs, waitMs, tries } = work;
    const moved: MovedEntry = { place: { stream, index, number }, entry, sinceMs, waitMs, tries };
    return asText("outbox_entry", moved);
  });
  return { texts, next: isLast ? kindAfter(place) : { ...place, after: works.at(-1)!.place } };
}

async function readSchedules(
  tx: ReadTransaction,
  tenant: number,
  place: WorkPlace,
  batch: number,
): Promise<Page> {
  const start = place.after as string | undefined;
  const page = { limit: batch, ...(start && { start }) };
  const { records, isLast } = await listSchedules(tx, tenant, page);
  const cancelled = await Promise.all(records.map((record) => isCancelled(tx, tenant, record)));
  const texts = records.filter((_, index) => !cancelled[index]).map(scheduleText);
  return {
    texts,
    next: isLast ? kindAfter(place) : { ...place, after: records.at(-1)!.id },
  };
}

function scheduleText(record: ScheduleRecord): WorkText {
  const cancelOn = record.cancelOn.map(({ key, eventType }) => ({ key, eventType }));
  const moved: MovedSchedule = { ...record, cancelOn };
  return asText("scheduled_event", moved);
}

async function readDeliveries(
  tx: ReadTransaction,
  tenant: number,
  place: WorkPlace,
  batch: number,
): Promise<Page> {
  const after = place.after as MovedDelivery | undefined;
  const found: MovedDelivery[] = await listTenantDeliveries(tx, tenant, after, batch);
  return {
    texts: found.map(deliveryText),
    next: found.length < batch ? kindAfter(place) : { ...place, after: found.at(-1)! },
  };
}

/** Traces are not moved: they belong to the deployment that recorded them. */
function deliveryText({ delivery: { cause: _, ...delivery }, ...place }: MovedDelivery): WorkText {
  return asText("delivery", { ...place, delivery });
}

async function readSagas(
  tx: ReadTransaction,
  tenant: number,
  place: WorkPlace,
  batch: number,
): Promise<Page> {
  const after = place.after as string | undefined;
  const records = await listSagaRecords(tx, tenant, after, batch);
  const needed = records.map(({ instance }) => neededDefinition(instance))
    .filter((hash) => hash !== undefined);
  const definitions = place.definitions.union(new Set(needed));
  const texts = records.map((record) => asText("saga", record satisfies MovedSaga));
  const known = { ...place, definitions };
  const isLast = records.length < batch;
  return {
    texts,
    next: isLast ? kindAfter(known) : { ...known, after: records.at(-1)!.instance.id },
  };
}

async function readDefinitions(
  tx: ReadTransaction,
  tenant: number,
  place: WorkPlace,
): Promise<Page> {
  const { definitions } = place;
  const texts = await Promise.all(
    [...definitions].sort().map(async (hash) => {
      const kept = await readSagaDefinition(tx, tenant, hash);
      if (kept === undefined) throw new Error(`The store is damaged: no saga definition ${hash}`);
      return asText("saga_definition", { hash, kept } satisfies MovedDefinition);
    }),
  );
  return { texts, next: kindAfter(place) };
}

/** Projections are few and small, so they are read all at once. */
async function readProjections(
  tx: ReadTransaction,
  tenant: number,
  place: WorkPlace,
): Promise<Page> {
  const records = await listProjections(tx, tenant);
  const texts = records.filter(({ isDeleted }) => !isDeleted).map((record) => {
    const { name, deployed_at: deployedAt } = record;
    const { document } = newestVersion(record);
    return asText("projection", { name, deployedAt, document } satisfies MovedProjection);
  });
  return { texts, next: kindAfter(place) };
}

async function readTombstones(
  tx: ReadTransaction,
  tenant: number,
  place: WorkPlace,
  batch: number,
): Promise<Page> {
  const found = await walkTombstones(tx, tenant, place.after as string | undefined, batch);
  return {
    texts: found.map((tombstone) => asText("tombstone", movedTombstone(tombstone))),
    next: found.length < batch ? undefined : { ...place, after: found.at(-1)!.id },
  };
}

function kindAfter({ kind, definitions }: WorkPlace): WorkPlace {
  return { kind: WORK_KINDS[WORK_KINDS.indexOf(kind) + 1]!, definitions };
}

function asText(kind: WorkKind, moved: unknown): WorkText {
  return { kind, text: JSON.stringify(moved) };
}

/** How much one transaction reads: bounded by its five seconds and by memory. */
export interface SegmentLimits {
  /** Heads asked for at a time. */
  readonly batch: number;
  readonly heads: number;
  readonly milliseconds: number;
}
