/**
 * Deliveries that have ended, by listener and state in the order of their ids. They are kept for
 * a while, for people to look at and to ask for again. See docs/reference/listeners.md.
 */

import {
  type Delivery,
  END_STATES,
  type EndedDelivery,
  type EndState,
} from "../../domain/listener/delivery.ts";
import { limits } from "../../domain/limits.ts";
import type { Bytes, ReadTransaction, Transaction } from "../../kv/engine.ts";
import { unpack } from "../../kv/tuple.ts";
import type { Endpoint } from "./deliveries.ts";
import { decodeRecord, encodeRecord } from "../json_record.ts";
import { type ErasedStream, takePage } from "../erased_copies.ts";
import { keyAfter, keys } from "../keys.ts";
import { forgetDelivery, noteDelivery } from "../effects.ts";

type Reads = Pick<ReadTransaction, "get" | "getRange">;

/** Without the id, which is in the key. */
type Stored = Omit<EndedDelivery, "delivery"> & { readonly delivery: Omit<Delivery, "id"> };

export function storeEnded(tx: Transaction, at: Endpoint, ended: EndedDelivery): void {
  const { delivery: { id, ...delivery }, ...rest } = ended;
  const stored: Stored = { delivery, ...rest };
  const { state } = ended.end;
  tx.set(keys.endedDelivery(at.tenant, at.listener, state, id), encodeRecord(stored));
  noteDelivery(tx, at.tenant, ended, { listener: at.listener, id, state });
}

export function clearEnded(tx: Transaction, at: Endpoint, ended: EndedDelivery): void {
  tx.clear(keys.endedDelivery(at.tenant, at.listener, ended.end.state, ended.delivery.id));
  forgetDelivery(tx, at.tenant, ended, at.listener);
}

/** The delivery with that id, however it ended. */
export async function findEnded(
  tx: Reads,
  { tenant, listener }: Endpoint,
  id: string,
): Promise<EndedDelivery | undefined> {
  const found = await Promise.all(
    END_STATES.map((state) => tx.get(keys.endedDelivery(tenant, listener, state, id))),
  );
  const value = found.find((each) => each !== undefined);
  return value && decode(id, value);
}

export interface EndedPage {
  readonly limit: number;
  /** Exclusive. */
  readonly after?: string;
  /** Newest first. */
  readonly reverse: boolean;
}

/** The deliveries of one state, by id. */
export async function listEnded(
  tx: Pick<ReadTransaction, "getRange">,
  { tenant, listener }: Endpoint,
  state: EndState,
  { limit, after, reverse }: EndedPage,
): Promise<EndedDelivery[]> {
  const all = keys.endedDeliveries(tenant, listener, state);
  const at = after === undefined ? undefined : keys.endedDelivery(tenant, listener, state, after);
  const range = at === undefined
    ? all
    : reverse
    ? { begin: all.begin, end: at }
    : { begin: keyAfter(at), end: all.end };
  const pairs = await tx.getRange(range, { limit, reverse });
  return pairs.map(({ key, value }) => decode(unpack(key).at(-1) as string, value));
}

/** How many deliveries are in one state, counted up to `countMax`. */
export async function countEnded(
  tx: Pick<ReadTransaction, "getRange">,
  { tenant, listener }: Endpoint,
  state: EndState,
  countMax: number,
): Promise<number> {
  const range = keys.endedDeliveries(tenant, listener, state);
  return (await tx.getRange(range, { limit: countMax, keysOnly: true })).length;
}

/** Where a sweep is, among the deliveries of one listener and state. */
export interface EndedDeliveryPlace {
  readonly listener: string;
  readonly state: EndState;
  /** The delivery that was looked at last; none before the first. */
  readonly id?: string;
  /** Newer deliveries that are kept. */
  readonly kept: number;
}

export interface EndedDeliverySweep {
  readonly after: EndedDeliveryPlace | undefined;
  readonly nowMs: number;
  readonly limit: number;
}

/**
 * Looks at the next `limit` deliveries of a tenant, of each listener and state the newest first.
 * Removes those that are past their time, and those with enough newer ones. `next` is where to
 * go on; undefined when the tenant is done.
 */
export async function sweepEndedDeliveries(
  tx: Transaction,
  tenant: number,
  { after, nowMs, limit }: EndedDeliverySweep,
): Promise<{ readonly removed: number; readonly next: EndedDeliveryPlace | undefined }> {
  const place = after ?? await nextPlace(tx, tenant, undefined);
  if (place === undefined) return { removed: 0, next: undefined };
  const { listener, state } = place;
  const { keptMax, retentionSeconds } = RETENTION[state];
  const page = { limit, after: place.id, reverse: true };
  // Unguarded: an ended delivery does not change, and removing it twice does no harm.
  const looked = await listEnded(tx.unguarded, { tenant, listener }, state, page);
  let { kept } = place;
  for (const each of looked) {
    const isOld = each.endedMs <= nowMs - retentionSeconds * MS_PER_SECOND;
    if (isOld || kept >= keptMax) clearEnded(tx, { tenant, listener }, each);
    else kept++;
  }
  const removed = looked.length - (kept - place.kept);
  const last = looked.at(-1);
  if (last === undefined || looked.length < limit) {
    return { removed, next: await nextPlace(tx, tenant, place) };
  }
  return { removed, next: { listener, state, id: last.delivery.id, kept } };
}

const MS_PER_SECOND = 1000;

const UNDELIVERED = {
  keptMax: limits.undeliveredKeptMax,
  retentionSeconds: limits.undeliveredRetentionSeconds,
};

const RETENTION = {
  delivered: {
    keptMax: limits.deliveredKeptMax,
    retentionSeconds: limits.deliveredRetentionSeconds,
  },
  dead: UNDELIVERED,
  dropped: UNDELIVERED,
} as const;

/** The next listener and state that have any. */
async function nextPlace(
  tx: Transaction,
  tenant: number,
  after: EndedDeliveryPlace | undefined,
): Promise<EndedDeliveryPlace | undefined> {
  const all = keys.allEndedDeliveries(tenant);
  const begin = after === undefined
    ? all.begin
    : keys.endedDeliveries(tenant, after.listener, after.state).end;
  const [first] = await tx.unguarded.getRange({ begin, end: all.end }, { limit: 1 });
  if (first === undefined) return undefined;
  const [listener, state] = unpack(first.key).slice(-3) as [string, EndState, string];
  return { listener, state, kept: 0 };
}

function decode(id: string, value: Bytes): EndedDelivery {
  const { delivery, ...rest } = decodeRecord<Stored>(value);
  return { delivery: { id, ...delivery }, ...rest };
}

/** Removes the next deliveries of events of an erased stream, with the log of their attempts. */
export async function removeStreamEnded(
  tx: Transaction,
  { tenant, stream, length }: ErasedStream,
  after: Bytes | undefined,
): Promise<Bytes | undefined> {
  return await takePage(tx, keys.allEndedDeliveries(tenant), after, ({ key, value }) => {
    const { stream: of, index } = decodeRecord<Stored>(value);
    if (of !== stream || index >= length) return;
    tx.clear(key);
    const [listener] = unpack(key).slice(-3) as [string];
    forgetDelivery(tx, tenant, { stream, index }, listener);
  });
}
