/**
 * Pending deliveries in lanes, one for each listener and stream, in the order of the stream. A
 * mark says that the first delivery of a lane may be due; the workers of the whole deployment
 * look for marks. The transaction of an event sets a delivery and its mark, and reads neither.
 * See docs/reference/listeners.md.
 */

import type { Delivery, Lane } from "../../domain/listener/delivery.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import { shardOf } from "../../domain/fairness/work_share.ts";
import type { Bytes, ReadTransaction, Transaction } from "../../kv/engine.ts";
import { unpack } from "../../kv/tuple.ts";
import { decodeRecord, encodeRecord } from "../json_record.ts";
import { clearPage, type ErasedStream } from "../erased_copies.ts";
import { keyAfter, keys } from "../keys.ts";
import { setTimer, type Timer } from "../timers.ts";

type Reads = Pick<ReadTransaction, "get" | "getRange">;

/** A delivery in its lane. */
export interface LaneEntry {
  /** Index of its event in the stream. */
  readonly index: number;
  readonly delivery: Delivery;
}

/** A pending delivery of one listener. */
export interface PendingDelivery extends LaneEntry {
  readonly stream: StreamKey;
}

export interface PendingPlace {
  readonly stream: StreamKey;
  readonly index: number;
}

/** A listener that lanes belong to. */
export type Endpoint = Pick<Lane, "tenant" | "listener">;

const PRESENT = new Uint8Array(0);
/**
 * Separates listener and stream in the id of a lane's timer, which sets its mark. Names have no
 * slash.
 */
const SEPARATOR = "/";

export function laneShard({ tenant, listener, stream }: Lane): number {
  return shardOf("lane", `${tenant}/${listener}/${stream}`);
}

/** Made before the transaction, so that its size is known. */
export function encodeDelivery(delivery: Delivery): Bytes {
  return encodeRecord(delivery);
}

/** Adds a delivery from {@link encodeDelivery}; workers see it only after {@link markLane}. */
export function putDelivery(tx: Transaction, lane: Lane, index: number, value: Bytes): void {
  tx.set(deliveryKey(lane, index), value);
}

export async function readDelivery(
  tx: Reads,
  lane: Lane,
  index: number,
): Promise<Delivery | undefined> {
  const value = await tx.get(deliveryKey(lane, index));
  return value && decodeRecord<Delivery>(value);
}

export function clearDelivery(tx: Transaction, lane: Lane, index: number): void {
  tx.clear(deliveryKey(lane, index));
}

/** The first `limit` deliveries of a lane. */
export async function listLane(tx: Reads, lane: Lane, limit: number): Promise<LaneEntry[]> {
  const { tenant, listener, stream } = lane;
  const pairs = await tx.getRange(keys.lane(tenant, listener, stream), { limit });
  return pairs.map(({ key, value }) => (
    { index: unpack(key).at(-1) as number, delivery: decodeRecord<Delivery>(value) }
  ));
}

/** Marks a lane as one that may have something to do. */
export function markLane(tx: Transaction, lane: Lane): void {
  tx.set(markKey(lane), PRESENT);
}

/**
 * Looks at the first delivery of a lane, guarded, so that none added meanwhile is missed. If it
 * is due, the mark stays; if it is due later, a timer replaces the mark; if there is none, the
 * mark goes. Returns true if the mark stays.
 */
export async function restLane(tx: Transaction, lane: Lane, nowMs: number): Promise<boolean> {
  const [first] = await listLane(tx, lane, 1);
  if (first !== undefined && first.delivery.dueMs <= nowMs) return true;
  tx.clear(markKey(lane));
  if (first !== undefined) setTimer(tx, laneTimer(lane, first.delivery.dueMs));
  return false;
}

/** Tells watchers that lanes were marked. */
export function signalLanes(tx: Transaction): void {
  tx.add(keys.laneSignal(), 1n);
}

export function laneTimer({ tenant, listener, stream }: Lane, dueMs: number): Timer {
  return { dueMs, tenant, kind: "delivery", id: `${listener}${SEPARATOR}${stream}` };
}

/** The lane that a timer is for. */
export function laneOfTimer({ tenant, id }: Timer): Lane {
  const at = id.indexOf(SEPARATOR);
  return { tenant, listener: id.slice(0, at), stream: id.slice(at + 1) as StreamKey };
}

/** The next listener with marked lanes in a shard, after all of `after`. */
export async function nextMarkedEndpoint(
  tx: Reads,
  shard: number,
  after: Endpoint | undefined,
): Promise<Endpoint | undefined> {
  const all = keys.laneMarks(shard);
  const begin = after === undefined
    ? all.begin
    : keys.endpointMarks(shard, after.tenant, after.listener).end;
  const [first] = await tx.getRange({ begin, end: all.end }, { limit: 1 });
  if (first === undefined) return undefined;
  const [tenant, listener] = unpack(first.key).slice(-3) as [number, string, string];
  return { tenant, listener };
}

export interface LanePage {
  readonly after: StreamKey | undefined;
  readonly limit: number;
}

/** At most `limit` marked lanes of one listener in a shard, after the stream `after`. */
export async function listMarkedLanes(
  tx: Reads,
  shard: number,
  { tenant, listener }: Endpoint,
  { after, limit }: LanePage,
): Promise<Lane[]> {
  const all = keys.endpointMarks(shard, tenant, listener);
  const begin = after === undefined
    ? all.begin
    : keyAfter(keys.laneMark(shard, tenant, listener, after));
  const pairs = await tx.getRange({ begin, end: all.end }, { limit });
  return pairs.map(({ key }) => (
    { tenant, listener, stream: unpack(key).at(-1) as StreamKey }
  ));
}

/** At most `limit` marked lanes of a shard, of any listener. */
export async function listMarks(tx: Reads, shard: number, limit: number): Promise<Lane[]> {
  const pairs = await tx.getRange(keys.laneMarks(shard), { limit });
  return pairs.map(({ key }) => {
    const [tenant, listener, stream] = unpack(key).slice(-3) as [number, string, StreamKey];
    return { tenant, listener, stream };
  });
}

/** At most `limit` pending deliveries of one listener, by stream and index, after `after`. */
export async function listPendingDeliveries(
  tx: Reads,
  { tenant, listener }: Endpoint,
  after: PendingPlace | undefined,
  limit: number,
): Promise<PendingDelivery[]> {
  const all = keys.endpointDeliveries(tenant, listener);
  const begin = after === undefined
    ? all.begin
    : keyAfter(keys.delivery(tenant, listener, after.stream, after.index));
  const pairs = await tx.getRange({ begin, end: all.end }, { limit });
  return pairs.map(({ key, value }) => {
    const [stream, index] = unpack(key).slice(-2) as [StreamKey, number];
    return { stream, index, delivery: decodeRecord<Delivery>(value) };
  });
}

/** How many deliveries of one listener are pending, counted up to `countMax`. */
export async function countPending(
  tx: Pick<ReadTransaction, "getRange">,
  { tenant, listener }: Endpoint,
  countMax: number,
): Promise<number> {
  const range = keys.endpointDeliveries(tenant, listener);
  return (await tx.getRange(range, { limit: countMax, keysOnly: true })).length;
}

/** At most `limit` pending deliveries of an environment, after `after`. */
export async function listTenantDeliveries(
  tx: Reads,
  tenant: number,
  after: PendingPlace & { readonly listener: string } | undefined,
  limit: number,
): Promise<(PendingDelivery & { readonly listener: string })[]> {
  const all = keys.deliveries(tenant);
  const begin = after === undefined
    ? all.begin
    : keyAfter(keys.delivery(tenant, after.listener, after.stream, after.index));
  const pairs = await tx.getRange({ begin, end: all.end }, { limit });
  return pairs.map(({ key, value }) => {
    const [listener, stream, index] = unpack(key).slice(-3) as [string, StreamKey, number];
    return { listener, stream, index, delivery: decodeRecord<Delivery>(value) };
  });
}

function deliveryKey({ tenant, listener, stream }: Lane, index: number): Bytes {
  return keys.delivery(tenant, listener, stream, index);
}

function markKey(lane: Lane): Bytes {
  return keys.laneMark(laneShard(lane), lane.tenant, lane.listener, lane.stream);
}

/**
 * Removes the next deliveries of events of an erased stream, one listener after another. Marks
 * and timers of lanes that become empty go by themselves.
 */
export async function removeStreamDeliveries(
  tx: Transaction,
  { tenant, stream, length }: ErasedStream,
  after: Bytes | undefined,
): Promise<Bytes | undefined> {
  const { begin, end } = keys.deliveries(tenant);
  const [next] = await tx.unguarded.getRange({ begin: after ?? begin, end }, { limit: 1 });
  if (next === undefined) return undefined;
  const listener = unpack(next.key).at(-3) as string;
  const lane = keys.lane(tenant, listener, stream).begin;
  const upTo = keys.delivery(tenant, listener, stream, length);
  const isMore = await clearPage(tx, tenant, { begin: lane, end: upTo }) !== undefined;
  return isMore ? lane : keys.endpointDeliveries(tenant, listener).end;
}
