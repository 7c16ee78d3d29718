/**
 * Transfers under way, and the pending work that they have brought.
 *
 * A mark gives the tenant number that a transfer fills; no environment has that number yet. With
 * the mark, a later transfer into the same environment finds and removes what one that died has
 * left. Outbox entries and timers go to queues of the whole deployment, so until the environment
 * is there, its work is kept under its tenant number, where no worker looks. A second mark names
 * environments that are there and whose work is not in the queues yet.
 */

import type { Environment } from "../domain/tenant.ts";
import type { Bytes, ReadTransaction, Transaction } from "../kv/engine.ts";
import { decodeRecord, encodeRecord } from "./json_record.ts";
import { keys } from "./keys.ts";
import type { OutboxPlace, WaitingEntry } from "../domain/reaction/outbox_entry.ts";
import { unpack } from "../kv/tuple.ts";
import { clearLargeValue, setLargeValue, wholeValue } from "./large_value.ts";
import { putEntry, signalOutbox } from "./reactions/outbox.ts";
import { encodeEntry } from "./reactions/entry_bytes.ts";
import { setTimer, type Timer, type TimerKind } from "./timers.ts";

/** The environment that a transfer fills, by slug, because its instance may not exist yet. */
export interface TransferPlace {
  readonly slug: string;
  readonly environment: Environment;
}

/** The tenant number of the transfer under way; undefined if there is none. */
export async function readTransferMark(
  tx: Pick<ReadTransaction, "get">,
  { slug, environment }: TransferPlace,
): Promise<number | undefined> {
  const value = await tx.get(keys.transferMark(slug, environment));
  return value && decodeRecord<{ tenant: number }>(value).tenant;
}

export function setTransferMark(tx: Transaction, place: TransferPlace, tenant: number): void {
  tx.set(keys.transferMark(place.slug, place.environment), encodeRecord({ tenant }));
}

export function clearTransferMark(tx: Transaction, { slug, environment }: TransferPlace): void {
  tx.clear(keys.transferMark(slug, environment));
}

/** Removes everything that a transfer has brought so far. */
export function clearTransferred(tx: Transaction, tenant: number): void {
  tx.clearRange(keys.tenant(tenant));
}

type StreamKey = OutboxPlace["stream"];

/** A step ends after the piece with which it has moved this many bytes. */
const STEP_BYTES = 1024 * 1024;
const ENTRIES = 0;
const NOTHING = new Uint8Array(0);
const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function keepTransferredEntry(
  tx: Transaction,
  place: OutboxPlace,
  entry: WaitingEntry,
): void {
  const { tenant, stream, index, number } = place;
  const key = keys.transferredEntry(tenant, stream, index, number);
  setLargeValue(tx, tenant, key, encodeEntry(entry));
}

export function keepTransferredTimer(tx: Transaction, { tenant, kind, id, dueMs }: Timer): void {
  tx.set(keys.transferredTimer(tenant, kind, id), encoder.encode(String(dueMs)));
}

/** Whether this entry was kept already. */
export async function hasTransferredEntry(
  tx: Pick<ReadTransaction, "get">,
  { tenant, stream, index, number }: OutboxPlace,
): Promise<boolean> {
  return await tx.get(keys.transferredEntry(tenant, stream, index, number)) !== undefined;
}

/** Marks an environment as there: the work that was kept back may go to the queues. */
export function markTransferredWork(tx: Transaction, tenant: number): void {
  tx.set(keys.transferredWork(tenant), NOTHING);
}

/** An environment whose work is not all in the queues; undefined if there is none. */
export async function nextTransferredWork(
  tx: Pick<ReadTransaction, "getRange">,
): Promise<number | undefined> {
  const [first] = await tx.getRange(keys.transferredWorks(), { limit: 1 });
  return first && unpack(first.key).at(-1) as number;
}

/**
 * Moves up to `limit` pieces to their queues. All entries go before the first timer, because a
 * saga that times out looks for its awaited event among the entries. Returns how many were
 * moved; the mark goes with the last of them.
 */
export async function moveTransferredWork(
  tx: Transaction,
  tenant: number,
  limit: number,
): Promise<number> {
  const options = { limit, bytesMax: STEP_BYTES };
  const pairs = await tx.getRange(keys.allTransferred(tenant), options);
  let bytes = 0;
  let moved = 0;
  let entries = 0;
  for (const { key, value } of pairs) {
    if (bytes >= STEP_BYTES) break;
    const [part, ...place] = unpack(key).slice(2);
    const whole = await wholeValue(tx, tenant, key, value);
    if (part === ENTRIES) {
      const [stream, index, number] = place as [StreamKey, number, number];
      putEntry(tx, { tenant, stream, index, number }, whole);
      entries++;
    } else setTimer(tx, decodeTimer(tenant, place as [TimerKind, string], whole));
    clearLargeValue(tx, tenant, key);
    bytes += key.length + whole.length;
    moved++;
  }
  if (entries > 0) signalOutbox(tx);
  const left = await tx.getRange(keys.allTransferred(tenant), { limit: 1 });
  if (left.length === 0) tx.clear(keys.transferredWork(tenant));
  return moved;
}

function decodeTimer(tenant: number, [kind, id]: [TimerKind, string], value: Bytes): Timer {
  return { dueMs: Number(decoder.decode(value)), tenant, kind, id };
}
