/**
 * Where to find what an event has set off: a row for each implied event, scheduled event, saga and
 * ended delivery, under the event. Each is written in the transaction of what it leads to, so an
 * event that sets nothing off costs nothing. Rows hold references only. See
 * docs/internals/reactions.md.
 */

import { parseEventId } from "../domain/event.ts";
import { limits } from "../domain/limits.ts";
import type { EndState } from "../domain/listener/delivery.ts";
import type { StreamKey } from "../domain/identifier.ts";
import type { Bytes, ReadTransaction, Transaction } from "../kv/engine.ts";
import { unpack } from "../kv/tuple.ts";
import { decodeRecord, encodeRecord } from "./json_record.ts";
import { keyAfter, keys } from "./keys.ts";

type Reads = Pick<ReadTransaction, "get" | "getRange">;

/** An event by its place. */
export interface EventPlace {
  readonly stream: StreamKey;
  readonly index: number;
}

/** The same as other records name it. Undefined if the id is none. */
export function placeOf(key: string, streamId: string): EventPlace | undefined {
  const index = parseEventId(streamId);
  return index === undefined ? undefined : { stream: key as StreamKey, index };
}

/** What rows of one event lead to; part of their keys. */
const group = { implied: 1, saga: 2, delivery: 3 } as const;
const PRESENT = new Uint8Array(0);

/** Notes events that an event has implied, which are written in this transaction. */
export function noteImplied(
  tx: Transaction,
  tenant: number,
  { stream, index }: EventPlace,
  implied: readonly EventPlace[],
): void {
  const [first] = implied;
  if (first === undefined) return;
  const id = `${first.stream}/${first.index}`;
  const list = implied.map((each) => [each.stream, each.index]);
  tx.set(keys.effect(tenant, stream, index, group.implied, id), encodeRecord(list));
}

/** Notes a saga that the event has started or moved on. */
export function noteSaga(tx: Transaction, tenant: number, at: EventPlace, sagaId: string): void {
  tx.set(keys.effect(tenant, at.stream, at.index, group.saga, sagaId), PRESENT);
}

export function forgetSaga(tx: Transaction, tenant: number, at: EventPlace, sagaId: string): void {
  tx.clear(keys.effect(tenant, at.stream, at.index, group.saga, sagaId));
}

/** A delivery that has ended, among those of its listener. */
export interface EndedReference {
  readonly id: string;
  readonly state: EndState;
}

/** Notes how the delivery of the event to a listener has ended. */
export function noteDelivery(
  tx: Transaction,
  tenant: number,
  at: EventPlace,
  { listener, ...ended }: EndedReference & { readonly listener: string },
): void {
  const key = keys.effect(tenant, at.stream, at.index, group.delivery, listener);
  tx.set(key, encodeRecord(ended));
}

export function forgetDelivery(
  tx: Transaction,
  tenant: number,
  at: EventPlace,
  listener: string,
): void {
  tx.clear(keys.effect(tenant, at.stream, at.index, group.delivery, listener));
}

/** What the rows of an event lead to. */
export interface EffectReferences {
  readonly implied: readonly EventPlace[];
  readonly sagas: readonly string[];
  /** By listener. */
  readonly deliveries: ReadonlyMap<string, EndedReference>;
  /** Whether there are more rows than were read. */
  readonly isCut: boolean;
}

/** Reads at most `limit` rows. */
export async function readEffects(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  { stream, index }: EventPlace,
  limit: number,
): Promise<EffectReferences> {
  const pairs = await tx.getRange(keys.effects(tenant, stream, index), { limit: limit + 1 });
  const implied: EventPlace[] = [];
  const sagas: string[] = [];
  const deliveries = new Map<string, EndedReference>();
  for (const { key, value } of pairs.slice(0, limit)) {
    const [of, id] = unpack(key).slice(-2) as [number, string];
    if (of === group.implied) {
      for (const [stream, index] of decodeRecord<[StreamKey, number][]>(value)) {
        implied.push({ stream, index });
      }
    } else if (of === group.saga) sagas.push(id);
    else deliveries.set(id, decodeRecord<EndedReference>(value));
  }
  return { implied, sagas, deliveries, isCut: pairs.length > limit };
}

/** Why a scheduled event will never fire. */
export type CancelReason =
  /** An event that its rules name was written. */
  | "event"
  | "request"
  | "operator"
  /** It could not be written; there is an error record. */
  | "failed"
  /** The stream that it was for, or that it came from, was erased. */
  | "erased";

export interface CancelledBy {
  readonly reason: CancelReason;
  readonly key?: string;
  readonly event_type?: string;
  /** Absent where very many were cancelled at once. */
  readonly stream_id?: string;
}

/** How a scheduled event ended. */
export type ScheduleEnd =
  | { readonly state: "fired"; readonly atMs: number; readonly streamId: string }
  | { readonly state: "cancelled"; readonly atMs: number; readonly by: CancelledBy };

/** What is kept of a scheduled event that has ended. */
export type EndedSchedule = ScheduleEnd & {
  readonly key: string;
  readonly eventType: string;
  readonly fireAtMs: number;
};

/** The event that scheduled something, and what: the part of its record that is needed here. */
export interface ScheduledBy {
  readonly id: string;
  readonly by: { readonly key: string; readonly streamId: string };
}

function scheduleKey(tenant: number, { id, by }: ScheduledBy): Bytes {
  const at = placeOf(by.key, by.streamId);
  return keys.scheduleEffect(tenant, by.key, at?.index ?? 0, id);
}

export function noteScheduled(tx: Transaction, tenant: number, record: ScheduledBy): void {
  tx.set(scheduleKey(tenant, record), PRESENT);
}

/** Keeps how it ended; without an end, nothing of it. */
export function noteScheduleEnd(
  tx: Transaction,
  tenant: number,
  record: ScheduledBy,
  ended: EndedSchedule | undefined,
): void {
  const key = scheduleKey(tenant, record);
  if (ended === undefined) tx.clear(key);
  else tx.set(key, encodeRecord(ended));
}

export interface ScheduleReference {
  readonly id: string;
  /** Undefined while it is pending. */
  readonly ended: EndedSchedule | undefined;
}

/** At most `limit` events that the event has scheduled. */
export async function readScheduleEffects(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  { stream, index }: EventPlace,
  limit: number,
): Promise<ScheduleReference[]> {
  const pairs = await tx.getRange(keys.scheduleEffects(tenant, stream, index), { limit });
  return pairs.map(({ key, value }) => ({
    id: unpack(key).at(-1) as string,
    ended: value.length === 0 ? undefined : decodeRecord<EndedSchedule>(value),
  }));
}

const MS_PER_SECOND = 1000;

/**
 * Of the next `limit` scheduled events of a tenant after the key `after`, forgets those that ended
 * long enough ago. `next` is where to go on; undefined when the tenant is done.
 */
export async function sweepEndedSchedules(
  tx: Transaction,
  tenant: number,
  { after, nowMs, limit }: {
    readonly after: Bytes | undefined;
    readonly nowMs: number;
    readonly limit: number;
  },
): Promise<{ readonly removed: number; readonly next: Bytes | undefined }> {
  const { begin, end } = keys.allScheduleEffects(tenant);
  const range = { begin: after === undefined ? begin : keyAfter(after), end };
  // Unguarded: what has ended does not change.
  const pairs = await tx.unguarded.getRange(range, { limit });
  const endedByMs = nowMs - limits.scheduleHistorySeconds * MS_PER_SECOND;
  let removed = 0;
  for (const { key, value } of pairs) {
    if (value.length === 0 || decodeRecord<EndedSchedule>(value).atMs > endedByMs) continue;
    tx.clear(key);
    removed++;
  }
  return { removed, next: pairs.length < limit ? undefined : pairs.at(-1)?.key };
}

/** From when on effects are noted, in milliseconds since 1970: earlier events may lack some. */
export async function readEffectsSince(tx: Reads, tenant: number): Promise<number> {
  const values = await Promise.all([
    tx.get(keys.effectsSince()),
    tx.get(keys.tenantEffectsSince(tenant)),
  ]);
  return Math.max(0, ...values.map((value) => value ? decodeRecord<{ ms: number }>(value).ms : 0));
}

/** For an environment whose events come from elsewhere. */
export function setEffectsSince(tx: Transaction, tenant: number, ms: number): void {
  tx.set(keys.tenantEffectsSince(tenant), encodeRecord({ ms }));
}

/** Notes it for the whole store, unless that was done before. */
export async function beginEffects(tx: Transaction, ms: number): Promise<void> {
  if (await tx.get(keys.effectsSince()) !== undefined) return;
  tx.set(keys.effectsSince(), encodeRecord({ ms }));
}
