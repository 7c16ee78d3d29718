/**
 * Tombstones, which are requests to erase streams. Each waits with a timer until it is due; then
 * a mark says so, which stays until all is done. A stream has at most one that is open. See
 * docs/reference/erasure.md.
 */

import { isErasureOver, type Tombstone } from "../domain/erasure/tombstone.ts";
import type { StreamKey } from "../domain/identifier.ts";
import type { Bytes, ReadTransaction, Transaction } from "../kv/engine.ts";
import { unpack } from "../kv/tuple.ts";
import { decodeRecord, encodeRecord } from "./json_record.ts";
import { kind } from "./key_kinds.ts";
import { keyAfter, keys } from "./keys.ts";
import { clearTimer, setTimer, type Timer } from "./timers.ts";

type Reads = Pick<ReadTransaction, "get" | "getRange">;

const PRESENT = new Uint8Array(0);
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** An erasure that is due or under way. */
export interface ErasurePlace {
  readonly tenant: number;
  readonly id: string;
}

export async function readTombstone(
  tx: Pick<ReadTransaction, "get">,
  tenant: number,
  id: string,
): Promise<Tombstone | undefined> {
  const value = await tx.get(keys.tombstone(tenant, id));
  return value && decodeRecord<Tombstone>(value);
}

/** Stores a tombstone that is over, whatever is open for its stream. */
export function keepTombstone(tx: Transaction, tenant: number, tombstone: Tombstone): void {
  tx.set(keys.tombstone(tenant, tombstone.id), encodeRecord(tombstone));
}

/** Stores a tombstone as it is now; once it is over, its stream has none that is open. */
export function saveTombstone(tx: Transaction, tenant: number, tombstone: Tombstone): void {
  const { id, key } = tombstone;
  keepTombstone(tx, tenant, tombstone);
  const open = keys.tombstoneStream(tenant, key);
  if (isErasureOver(tombstone)) tx.clear(open);
  else tx.set(open, encoder.encode(id));
}

/** The id of the open tombstone of a stream. Guarded, so that nobody else opens one. */
export async function findOpenTombstone(
  tx: Pick<ReadTransaction, "get">,
  tenant: number,
  stream: StreamKey,
): Promise<string | undefined> {
  const id = await tx.get(keys.tombstoneStream(tenant, stream));
  return id && decoder.decode(id);
}

/** At most `limit` tombstones with an id below `start`, newest first. */
export async function listTombstones(
  tx: Reads,
  tenant: number,
  page: { readonly start?: string; readonly limit: number },
): Promise<Tombstone[]> {
  const { begin, end } = keys.tombstones(tenant);
  const upTo = page.start === undefined ? end : keys.tombstone(tenant, page.start);
  const pairs = await tx.getRange({ begin, end: upTo }, { limit: page.limit, reverse: true });
  return pairs.map(({ value }) => decodeRecord<Tombstone>(value));
}

/** At most `limit` tombstones after the id `after`, oldest first. */
export async function walkTombstones(
  tx: Reads,
  tenant: number,
  after: string | undefined,
  limit: number,
): Promise<Tombstone[]> {
  const { begin, end } = keys.tombstones(tenant);
  const from = after === undefined ? begin : keyAfter(keys.tombstone(tenant, after));
  const pairs = await tx.getRange({ begin: from, end }, { limit });
  return pairs.map(({ value }) => decodeRecord<Tombstone>(value));
}

/** The tombstone in a pair of the store, and whose it is; undefined if the pair is no tombstone. */
export function tombstoneIn(
  key: Bytes,
  value: Bytes,
): { readonly tenant: number; readonly tombstone: Tombstone } | undefined {
  const [tenant, of] = partsOf(key);
  if (typeof tenant !== "number" || tenant === 0 || of !== kind.tombstone) return undefined;
  return { tenant, tombstone: decodeRecord<Tombstone>(value) };
}

/** Keys that have the stamp of a commit are no tuples. */
function partsOf(key: Bytes): readonly unknown[] {
  try {
    return unpack(key);
  } catch {
    return [];
  }
}

export function erasureTimer(tenant: number, { id, executeAtMs }: Tombstone): Timer {
  return { dueMs: executeAtMs, tenant, kind: "erasure", id };
}

/** Sets the timer of an erasure. Once due, it is marked, and {@link listErasures} finds it. */
export function waitForErasure(tx: Transaction, tenant: number, tombstone: Tombstone): void {
  setTimer(tx, erasureTimer(tenant, tombstone));
}

export function stopWaiting(tx: Transaction, tenant: number, tombstone: Tombstone): void {
  clearTimer(tx, erasureTimer(tenant, tombstone));
}

export function markErasure(tx: Transaction, { tenant, id }: ErasurePlace): void {
  tx.set(keys.erasure(tenant, id), PRESENT);
}

export function clearErasure(tx: Transaction, { tenant, id }: ErasurePlace): void {
  tx.clear(keys.erasure(tenant, id));
}

/** At most `limit` erasures that are due or under way, after `after`. */
export async function listErasures(
  tx: Pick<ReadTransaction, "getRange">,
  after: ErasurePlace | undefined,
  limit: number,
): Promise<ErasurePlace[]> {
  const { begin, end } = keys.erasures();
  const from = after === undefined ? begin : keyAfter(keys.erasure(after.tenant, after.id));
  const pairs = await tx.getRange({ begin: from, end }, { limit });
  return pairs.map(({ key }) => {
    const [tenant, id] = unpack(key).slice(-2) as [number, string];
    return { tenant, id };
  });
}

/** Tells all nodes that their caches may have data of an erased stream. */
export function signalErasure(tx: Transaction): void {
  tx.add(keys.erasureSignal(), 1n);
}
