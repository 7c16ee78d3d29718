/**
 * What an event has set off: implied events, scheduled events, sagas and deliveries. It follows
 * implied events, breadth first, and ends early when it has read or found much. See
 * docs/reference/pending.md, "What an event has set off".
 */

import { decodeEvent, eventId, type StoredEvent } from "../../domain/event.ts";
import { ERASED_TYPE } from "../../domain/erasure/marker.ts";
import { openPieces, type Pieces } from "../../domain/fairness/pieces.ts";
import { limits } from "../../domain/limits.ts";
import type { Delivery } from "../../domain/listener/delivery.ts";
import type { DeliveryView } from "../../domain/listener/view.ts";
import type { AggregateName } from "../../domain/reading.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { SagaEffectView } from "../../domain/saga/view.ts";
import type { CompiledSpec } from "../../domain/spec/compiled.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Host } from "../../host.ts";
import type { Engine, ReadTransaction } from "../../kv/engine.ts";
import { readDelivery } from "../../store/listeners/deliveries.ts";
import { readTenantCount } from "../../store/access/instances.ts";
import {
  beginEffects,
  type CancelledBy,
  type EffectReferences,
  type EventPlace,
  readEffects,
  readEffectsSince,
  readScheduleEffects,
  type ScheduleReference,
} from "../../store/effects.ts";
import { openEntry } from "../../store/reactions/entry_bytes.ts";
import { listStreamEntries, type StreamEntries, wholeEntry } from "../../store/reactions/outbox.ts";
import {
  cancelledBy,
  cancelledFor,
  findCancelling,
  readParkedSchedule,
  readSchedule,
} from "../../store/reactions/schedules.ts";
import { readSaga } from "../../store/sagas/sagas.ts";
import { readEvent } from "../../store/streams/stream_events.ts";
import { locateStream, type SpecCache } from "../base/current_spec.ts";

export interface EffectsRequest extends AggregateName {
  /** As sent: a whole number, or the id of an event. */
  readonly index: string;
  /** 1: only of the event itself; 2: also of what it implies; and so on. */
  readonly depth: number;
}

export interface EffectsView {
  /** The event first, then those that follow from it, by depth. */
  readonly data: readonly EventEffects[];
  /** False if something of the time before, or of long ago, may be missing. */
  readonly complete: boolean;
  /** Whether the answer ended early. */
  readonly truncated: boolean;
}

interface EventEffects extends ImpliedView {
  readonly depth: number;
  readonly implied: ImpliedView[];
  scheduled?: ScheduledEffect[];
  sagas?: SagaEffectView[];
  deliveries?: DeliveryEffect[];
}

interface ImpliedView {
  readonly key: string;
  /** Absent while the event is not written yet. */
  readonly stream_id?: string;
  /** Absent for an erased event. */
  readonly event_type?: string;
  readonly erased?: true;
  readonly pending?: true;
}

interface ScheduledEffect {
  readonly scheduled_id: string;
  readonly state: "pending" | "fired" | "cancelled";
  readonly key: string;
  readonly event_type: string;
  readonly fire_at: string;
  readonly ended_at?: string;
  /** The event that it became. */
  readonly stream_id?: string;
  readonly cancelled_by?: CancelledBy;
}

type DeliveryEffect = Pick<DeliveryView, "delivery_id" | "state"> & { readonly listener: string };

export interface EffectParts {
  readonly engine: Engine;
  readonly host: Host;
  readonly specs: SpecCache;
}

const INDEX = /^[0-9]{1,15}$/;
const MS_PER_SECOND = 1000;
/** Rows that are read of one event. */
const ROWS_MAX = 500;
/** Stored bytes of events and records that one answer reads. */
const READ_BYTES_MAX = 8 * 1024 * 1024;
/** Implied events that are read at once, of at most `limits.eventDataBytesMax` each. */
const EVENTS_AT_ONCE = 32;
/** Events whose rows are read at once. */
const FOLLOWED_AT_ONCE = 8;

/** What is being put together. */
interface Draft {
  readonly tx: ReadTransaction;
  readonly tenant: number;
  readonly spec: CompiledSpec;
  readonly nowMs: number;
  readonly pieces: Pieces;
  /** Earlier events may lack effects. */
  readonly sinceMs: number;
  /** Characters of the answer, and bytes to read, that are left. */
  charactersLeft: number;
  bytesLeft: number;
  eventsLeft: number;
  isComplete: boolean;
  isTruncated: boolean;
}

export async function showEffects(
  { engine, host, specs }: EffectParts,
  { number: tenant }: Tenant,
  { aggregateType, id, index, depth }: EffectsRequest,
): Promise<Outcome<EffectsView>> {
  const spec = await specs.current(tenant);
  const located = locateStream(spec, aggregateType, id);
  if (!located.ok) return located;
  if (!INDEX.test(index)) return refuse({ kind: "invalid_index" });
  const first: EventPlace = { stream: located.value.key, index: Number(index) };
  const nowMs = host.nowMs();
  const keptMs = nowMs - limits.scheduleHistorySeconds * MS_PER_SECOND;
  return await engine.snapshot(async (tx): Promise<Outcome<EffectsView>> => {
    const draft: Draft = {
      tx,
      tenant,
      spec,
      nowMs,
      pieces: openPieces(host),
      sinceMs: Math.max(keptMs, await readEffectsSince(tx, tenant)),
      charactersLeft: limits.effectsCharactersMax,
      bytesLeft: READ_BYTES_MAX,
      eventsLeft: limits.effectsEventsMax,
      isComplete: true,
      isTruncated: false,
    };
    const data = await followEvents(draft, first, depth);
    if (data.length === 0) return refuse({ kind: "not_found", message: "There is no such event" });
    return accept({ data, complete: draft.isComplete, truncated: draft.isTruncated });
  });
}

/** Run it before anything is written: a store that has environments may lack earlier effects. */
export async function prepareEffects(engine: Engine, nowMs: number): Promise<void> {
  await engine.transact(async (tx) => beginEffects(tx, await readTenantCount(tx) > 0 ? nowMs : 0));
}

/** An event that was found, with its place. */
interface FoundEvent {
  readonly place: EventPlace;
  readonly event: StoredEvent;
}

/** Empty if there is no such event. */
async function followEvents(
  draft: Draft,
  first: EventPlace,
  depthMax: number,
): Promise<EventEffects[]> {
  const found: EventEffects[] = [];
  let layer = await readSome(draft, [first]);
  for (let depth = 0; depth < depthMax && layer.length > 0; depth++) {
    const next: FoundEvent[] = [];
    for (let at = 0; at < layer.length; at += FOLLOWED_AT_ONCE) {
      const some = layer.slice(at, at + FOLLOWED_AT_ONCE);
      const reading: Promise<EventRows>[] = [];
      for (const each of some) {
        const rows = readRows(draft, each);
        rows.catch(() => {}); // Thrown below, if it fails while others have their turn.
        reading.push(rows);
        await draft.pieces.rest();
      }
      for (const [index, rows] of (await Promise.all(reading)).entries()) {
        if (isSpent(draft)) return found;
        found.push(await viewEffects(draft, { ...some[index]!, depth, rows }, next));
        await draft.pieces.rest();
      }
    }
    layer = next;
  }
  return found;
}

function isSpent(draft: Draft): boolean {
  const { eventsLeft, charactersLeft, bytesLeft } = draft;
  const isSpent = eventsLeft <= 0 || charactersLeft <= 0 || bytesLeft <= 0;
  if (isSpent) draft.isTruncated = true;
  return isSpent;
}

/** Adds what was read to a list, as long as the answer has room. */
function add<T>(draft: Draft, list: T[], entry: T): void {
  if (draft.charactersLeft <= 0) {
    draft.isTruncated = true;
    return;
  }
  draft.charactersLeft -= JSON.stringify(entry).length;
  list.push(entry);
}

/** What is stored under an event. */
interface EventRows {
  readonly effects: EffectReferences;
  readonly outbox: StreamEntries;
  readonly scheduled: readonly ScheduleReference[];
  /** By listener of the current spec. */
  readonly deliveries: ReadonlyMap<string, Delivery | undefined>;
}

async function readRows(
  { tx, tenant, spec }: Draft,
  { place }: FoundEvent,
): Promise<EventRows> {
  const listeners = [...spec.listeners.keys()];
  const [effects, outbox, scheduled, pending] = await Promise.all([
    readEffects(tx, tenant, place, ROWS_MAX),
    listStreamEntries(tx, tenant, place, ROWS_MAX),
    readScheduleEffects(tx, tenant, place, ROWS_MAX + 1),
    Promise.all(listeners.map((listener) => {
      return readDelivery(tx, { tenant, listener, stream: place.stream }, place.index);
    })),
  ]);
  const deliveries = new Map(listeners.map((listener, index) => [listener, pending[index]]));
  return { effects, outbox, scheduled, deliveries };
}

/** One event with its effects; `next` gets the events that it has implied. */
async function viewEffects(
  draft: Draft,
  { place, event, depth, rows }: FoundEvent & { readonly depth: number; readonly rows: EventRows },
  next: FoundEvent[],
): Promise<EventEffects> {
  if (event.metadata.timestamp * MS_PER_SECOND < draft.sinceMs) draft.isComplete = false;
  if (rows.effects.isCut) draft.isTruncated = true;
  const effects: EventEffects = { depth, ...viewEvent(place, event), implied: [] };
  draft.charactersLeft -= JSON.stringify(effects).length;
  const { implied } = rows.effects;
  for (let at = 0; at < implied.length; at += EVENTS_AT_ONCE) {
    if (isSpent(draft)) return effects;
    for (const written of await readSome(draft, implied.slice(at, at + EVENTS_AT_ONCE))) {
      add(draft, effects.implied, viewEvent(written.place, written.event));
      next.push(written);
    }
    await draft.pieces.rest();
  }
  if (effects.erased) return effects;
  await addPending(draft, rows.outbox, effects.implied);
  effects.scheduled = await viewScheduled(draft, rows.scheduled);
  effects.sagas = await readSagas(draft, place, rows.effects.sagas);
  effects.deliveries = viewDeliveries(draft, rows);
  return effects;
}

/** Those of these events that exist, at most as many as the answer may still read. */
async function readSome(draft: Draft, places: readonly EventPlace[]): Promise<FoundEvent[]> {
  const wanted = places.slice(0, draft.eventsLeft);
  if (wanted.length < places.length) draft.isTruncated = true;
  draft.eventsLeft -= wanted.length;
  const { tx, tenant, pieces } = draft;
  const read = await Promise.all(wanted.map((place) => readEvent(tx, tenant, place.stream, place)));
  const found: FoundEvent[] = [];
  for (const [index, place] of wanted.entries()) {
    const { raw, bytes } = read[index] ?? { bytes: 0 };
    draft.bytesLeft -= bytes;
    if (raw !== undefined) found.push({ place, event: decodeEvent(raw) });
    await pieces.rest();
  }
  return found;
}

function viewEvent({ stream: key, index }: EventPlace, { type }: StoredEvent): ImpliedView {
  const stream_id = eventId(index);
  return type === ERASED_TYPE
    ? { key, stream_id, erased: true }
    : { key, stream_id, event_type: type };
}

/** Implied events that are not written yet. Each may be large, so one is read at a time. */
async function addPending(draft: Draft, { found, isCut }: StreamEntries, list: ImpliedView[]) {
  if (isCut) draft.isTruncated = true;
  for (const each of found) {
    if (isSpent(draft)) return;
    draft.bytesLeft -= each.bytes;
    const { entry } = openEntry(each.place, await wholeEntry(draft.tx, each));
    if (entry.kind === "emit") {
      const { key, eventType: event_type } = entry.emission;
      add(draft, list, { key, event_type, pending: true });
    }
    await draft.pieces.rest();
  }
}

async function viewScheduled(
  draft: Draft,
  found: readonly ScheduleReference[],
): Promise<ScheduledEffect[]> {
  if (found.length > ROWS_MAX) draft.isTruncated = true;
  const scheduled: ScheduledEffect[] = [];
  for (const reference of found.slice(0, ROWS_MAX)) {
    if (isSpent(draft)) break;
    const view = reference.ended === undefined
      ? await viewPending(draft, reference.id)
      : viewEndedSchedule(reference.id, reference.ended);
    if (view !== undefined) add(draft, scheduled, view);
    await draft.pieces.rest();
  }
  return scheduled;
}

async function viewPending(draft: Draft, id: string): Promise<ScheduledEffect | undefined> {
  const { tx, tenant, nowMs } = draft;
  const pending = await readSchedule(tx, tenant, id);
  const record = pending ?? await readParkedSchedule(tx, tenant, id);
  if (record === undefined) return undefined;
  const { emission: { key, eventType }, fireAtMs } = record;
  draft.bytesLeft -= JSON.stringify(record).length;
  const rule = await findCancelling(tx, tenant, record);
  const common = { scheduled_id: id, key, event_type: eventType, fire_at: timeOf(fireAtMs) };
  if (rule === undefined && pending !== undefined) return { ...common, state: "pending" };
  const end = rule === undefined ? cancelledFor("failed", nowMs) : cancelledBy(rule, nowMs);
  return {
    ...common,
    state: "cancelled",
    ...(end.state === "cancelled" && { cancelled_by: end.by }),
  };
}

function viewEndedSchedule(
  id: string,
  ended: NonNullable<ScheduleReference["ended"]>,
): ScheduledEffect {
  const { key, eventType, fireAtMs, atMs } = ended;
  const common = {
    scheduled_id: id,
    state: ended.state,
    key,
    event_type: eventType,
    fire_at: timeOf(fireAtMs),
    ended_at: timeOf(atMs),
  };
  return ended.state === "fired"
    ? { ...common, stream_id: ended.streamId }
    : { ...common, cancelled_by: ended.by };
}

async function readSagas(
  draft: Draft,
  { stream, index }: EventPlace,
  ids: readonly string[],
): Promise<SagaEffectView[]> {
  const sagas: SagaEffectView[] = [];
  for (const id of ids) {
    if (isSpent(draft)) break;
    const record = await readSaga(draft.tx, draft.tenant, id);
    if (record === undefined) continue;
    const { name, state, trigger, history } = record.instance;
    draft.bytesLeft -= JSON.stringify(record).length;
    const started = trigger.key === stream && trigger.stream_id === eventId(index);
    add(draft, sagas, { saga_id: id, name, state, started, steps: history });
    await draft.pieces.rest();
  }
  return sagas;
}

/** Pending ones are found by the listeners of the current spec, others by their rows. */
function viewDeliveries(draft: Draft, rows: EventRows): DeliveryEffect[] {
  const ended = rows.effects.deliveries;
  const deliveries: DeliveryEffect[] = [];
  for (const listener of new Set([...rows.deliveries.keys(), ...ended.keys()])) {
    if (isSpent(draft)) break;
    const pending = rows.deliveries.get(listener);
    const known = ended.get(listener);
    if (pending !== undefined) {
      add(draft, deliveries, { listener, delivery_id: pending.id, state: "pending" });
    } else if (known !== undefined) {
      add(draft, deliveries, { listener, delivery_id: known.id, state: known.state });
    }
  }
  return deliveries;
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
