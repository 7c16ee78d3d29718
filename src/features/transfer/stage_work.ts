/**
 * Stores a file's pending work with everything that leads to it: indexes, waits and watched
 * types. Only the queues get nothing yet, because the whole deployment shares them.
 */

import { parseEventId } from "../../domain/event.ts";
import { isErasureOver, type Tombstone } from "../../domain/erasure/tombstone.ts";
import { eventTypesOf } from "../../domain/saga/definition.ts";
import { compileKeptSaga } from "../../domain/spec/sagas/saga.ts";
import { splitStreamKey, type StreamKey } from "../../domain/identifier.ts";
import type {
  MovedDelivery,
  MovedEntry,
  MovedSaga,
  MovedSchedule,
  MovedTombstone,
  WorkItem,
} from "../../domain/transfer/work.ts";
import type { Transaction } from "../../kv/engine.ts";
import {
  encodeDelivery,
  laneTimer,
  putDelivery,
  readDelivery,
} from "../../store/listeners/deliveries.ts";
import {
  hasTransferredEntry,
  keepTransferredEntry,
  keepTransferredTimer,
} from "../../store/transfers.ts";
import {
  isSagaStarted,
  keepSagaDefinition,
  saveSaga,
  setSagaWaits,
} from "../../store/sagas/sagas.ts";
import { keepTransferredProjection } from "../projections/transferred_projections.ts";
import { keepSchedule, readSchedule, scheduleTimer } from "../../store/reactions/schedules.ts";
import type { StreamHead } from "../../store/streams/stream_head.ts";
import { openWatchedTypes, watchTypes } from "../../store/reactions/watched_types.ts";
import {
  erasureTimer,
  findOpenTombstone,
  keepTombstone,
  readTombstone,
  saveTombstone,
} from "../../store/tombstones.ts";
import { sagaTimer } from "../sagas/saga_transition.ts";

/** The event that set off an item of work. */
interface Origin {
  readonly stream: StreamKey;
  readonly index: number;
}

export function originOf(work: WorkItem): Origin | undefined {
  if (work.kind === "outbox_entry") return work.moved.place;
  if (work.kind === "scheduled_event") {
    const { key, streamId } = work.moved.by;
    return { stream: key as StreamKey, index: indexOf(streamId) };
  }
  if (work.kind === "delivery") return work.moved;
  if (work.kind === "saga_definition" || work.kind === "projection") return undefined;
  if (work.kind === "tombstone") {
    const { key, result } = work.moved;
    return { stream: key, index: (result?.event_count ?? 1) - 1 };
  }
  const { key, stream_id } = work.moved.instance.trigger;
  return { stream: key as StreamKey, index: indexOf(stream_id) };
}

/** The index in an event id; Infinity, which no stream has, for any other text. */
function indexOf(id: string): number {
  return parseEventId(id) ?? Infinity;
}

/**
 * Stores an item. Returns why it cannot be stored, or undefined once it is stored. `heads` must
 * have the stream of the item's origin.
 */
export async function storeWork(
  tx: Transaction,
  tenant: number,
  work: WorkItem,
  heads: ReadonlyMap<string, StreamHead>,
): Promise<string | undefined> {
  const origin = originOf(work);
  if (origin !== undefined && origin.index >= heads.get(origin.stream)!.length) {
    return `the event of ${origin.stream} that has set this work off is not in the file`;
  }
  const isStored = await storeMoved(tx, tenant, work);
  return isStored ? undefined : "this work is in the file already";
}

async function storeMoved(tx: Transaction, tenant: number, work: WorkItem): Promise<boolean> {
  switch (work.kind) {
    case "outbox_entry":
      return await storeEntry(tx, tenant, work.moved);
    case "scheduled_event":
      return await storeSchedule(tx, tenant, work.moved);
    case "delivery":
      return await storeDelivery(tx, tenant, work.moved);
    case "saga":
      return await storeSaga(tx, tenant, work.moved);
    case "saga_definition": {
      const { hash, kept } = work.moved;
      await keepSagaDefinition(tx, tenant, hash, kept);
      const sagas = eventTypesOf(compileKeptSaga(kept)).map(({ aggregateType, eventType }) =>
        `${aggregateType}.${eventType}`
      );
      await watch(tx, tenant, { sagas });
      return true;
    }
    case "projection":
      return await keepTransferredProjection(tx, tenant, work.moved);
    case "tombstone":
      return await storeTombstone(tx, tenant, work.moved);
  }
}

async function storeEntry(tx: Transaction, tenant: number, moved: MovedEntry): Promise<boolean> {
  const { place, ...waiting } = moved;
  if (await hasTransferredEntry(tx, { tenant, ...place })) return false;
  keepTransferredEntry(tx, { tenant, ...place }, waiting);
  return true;
}

async function storeSchedule(
  tx: Transaction,
  tenant: number,
  moved: MovedSchedule,
): Promise<boolean> {
  if (await readSchedule(tx, tenant, moved.id) !== undefined) return false;
  // In this store no mark has cancelled the events of a rule yet, which counts as mark 0.
  const cancelOn = moved.cancelOn.map((rule) => ({ ...rule, mark: 0 }));
  const record = { ...moved, cancelOn };
  keepSchedule(tx, tenant, record);
  keepTransferredTimer(tx, scheduleTimer(tenant, record));
  const cancels = cancelOn.map(({ key, eventType }) => `${splitStreamKey(key).type}.${eventType}`);
  await watch(tx, tenant, { cancels });
  return true;
}

/** Sets a timer instead of the lane's mark, because marks belong to the whole deployment. */
async function storeDelivery(
  tx: Transaction,
  tenant: number,
  { listener, stream, index, delivery }: MovedDelivery,
): Promise<boolean> {
  const lane = { tenant, listener, stream };
  if (await readDelivery(tx, lane, index) !== undefined) return false;
  putDelivery(tx, lane, index, encodeDelivery(delivery));
  const { dueMs, sinceMs } = delivery;
  keepTransferredTimer(tx, laneTimer(lane, Math.max(dueMs, sinceMs)));
  return true;
}

/** Does not watch its event types: its definition does, which is an item of its own. */
async function storeSaga(tx: Transaction, tenant: number, moved: MovedSaga): Promise<boolean> {
  const { instance: { id: sagaId, waiting }, awaitsFrom: from, timerMs } = moved;
  if (await isSagaStarted(tx, tenant, sagaId)) return false;
  saveSaga(tx, tenant, undefined, moved);
  if (waiting?.kind === "event" && from !== undefined) {
    setSagaWaits(tx, tenant, { stream: waiting.key, eventTypes: waiting.eventTypes }, {
      sagaId,
      from,
    });
  }
  if (timerMs !== undefined) keepTransferredTimer(tx, sagaTimer(tenant, sagaId, timerMs));
  return true;
}

/**
 * An open erasure continues by its timer; what it erased before the export is erased in the
 * file.
 */
async function storeTombstone(
  tx: Transaction,
  tenant: number,
  moved: MovedTombstone,
): Promise<boolean> {
  const [known, open] = await Promise.all([
    readTombstone(tx, tenant, moved.id),
    findOpenTombstone(tx, tenant, moved.key),
  ]);
  if (known !== undefined) return false;
  const tombstone: Tombstone = { ...moved, imported: true };
  if (isErasureOver(tombstone)) {
    keepTombstone(tx, tenant, tombstone);
    return true;
  }
  if (open !== undefined) return false;
  saveTombstone(tx, tenant, tombstone);
  keepTransferredTimer(tx, erasureTimer(tenant, tombstone));
  return true;
}

async function watch(
  tx: Transaction,
  tenant: number,
  more: Parameters<typeof watchTypes>[3],
): Promise<void> {
  watchTypes(tx, tenant, await openWatchedTypes().read(tx, tenant), more);
}
