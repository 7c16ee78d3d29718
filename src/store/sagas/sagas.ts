/**
 * Sagas that were started, with their index entries, their waits and their definitions. A saga
 * is one record, so whoever changes it has read it. See docs/reference/sagas.md.
 */

import { assert } from "../../domain/assert.ts";
import { canonicalHash } from "../../domain/canonical_hash.ts";
import {
  eraseEvents,
  type EventReference,
  holdsErased,
  isEndState,
  isStartedByErased,
  SAGA_STATES,
  type SagaInstance,
  type SagaState,
} from "../../domain/saga/instance.ts";
import type { KeptSagaDefinition } from "../../domain/saga/definition.ts";
import { type SagaSummary, summarizeSaga } from "../../domain/saga/view.ts";
import type { StoredRoot } from "../../domain/reaction/root.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import { type Bytes, kvLimits, type ReadTransaction, type Transaction } from "../../kv/engine.ts";
import { unpack } from "../../kv/tuple.ts";
import { decodeRecord, encodeRecord } from "../json_record.ts";
import { type ErasedStream, takePage } from "../erased_copies.ts";
import { keyAfter, keys } from "../keys.ts";
import { clearLargeValue, setLargeValue, wholeValue } from "../large_value.ts";
import { limits } from "../../domain/limits.ts";
import { type EventPlace, forgetSaga, noteSaga, placeOf } from "../effects.ts";
import { sagaIdsFrom } from "../../domain/saga/saga_id.ts";

export interface SagaRecord {
  readonly instance: SagaInstance;
  /** While it awaits an event: the index in the awaited stream from which on events count. */
  readonly awaitsFrom?: number;
  /** When its timer is due: later than it asked for, if firing has failed. */
  readonly timerMs?: number;
  /** How often firing the timer has failed. */
  readonly timerTries?: number;
  /** How far its events are from a client's write: one more than its trigger. */
  readonly depth: number;
  /** Id of the request that began it all. */
  readonly requestId: string;
  /** The root whose budget its events draw on; absent: that of its trigger. */
  readonly root?: StoredRoot;
}

export interface SagaFilter {
  readonly name?: string;
  readonly state?: SagaState;
}

/** A saga that waits for events. */
export interface SagaWait {
  readonly sagaId: string;
  readonly from: number;
}

type Reads = Pick<ReadTransaction, "get" | "getRange">;

/** In place of a name, for the part of the index that has all sagas. No saga has this name. */
export const ALL_SAGAS = "";
const PRESENT = new Uint8Array(0);

export async function readSaga(
  tx: Reads,
  tenant: number,
  id: string,
): Promise<SagaRecord | undefined> {
  const value = await readStoredSaga(tx, tenant, id);
  return value && decodeSaga(value);
}

/** The bytes of a record, which may be large: {@link decodeSaga} makes the record of them. */
export async function readStoredSaga(
  tx: Reads,
  tenant: number,
  id: string,
): Promise<Bytes | undefined> {
  const key = keys.saga(tenant, id);
  const value = await tx.get(key);
  return value && await wholeValue(tx, tenant, key, value);
}

export function decodeSaga(whole: Bytes): SagaRecord {
  const record = decodeRecord<SagaRecord>(whole);
  storedBytes.set(record, whole.length);
  return record;
}

/** At most `limit` whole sagas after the id `after`, oldest first. */
export async function listSagaRecords(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  after: string | undefined,
  limit: number,
): Promise<SagaRecord[]> {
  const { begin, end } = keys.sagas(tenant);
  const range = { begin: after === undefined ? begin : keyAfter(keys.saga(tenant, after)), end };
  const pairs = await tx.getRange(range, { limit });
  return await Promise.all(
    pairs.map(async ({ key, value }) =>
      decodeRecord<SagaRecord>(await wholeValue(tx, tenant, key, value))
    ),
  );
}

/** Guarded, so that nobody else starts the same saga. */
export async function isSagaStarted(
  tx: Pick<ReadTransaction, "get">,
  tenant: number,
  id: string,
): Promise<boolean> {
  return await tx.get(keys.saga(tenant, id)) !== undefined;
}

/**
 * Stores a saga as it is now; returns the bytes that takes. `before` is what was read in this
 * transaction; undefined if there was none.
 */
export function saveSaga(
  tx: Transaction,
  tenant: number,
  before: SagaRecord | undefined,
  record: SagaRecord,
): number {
  const { id, name, state } = record.instance;
  const key = keys.saga(tenant, id);
  if (before !== undefined && isLarge(before)) clearLargeValue(tx, tenant, key);
  const value = encodeRecord(record);
  setLargeValue(tx, tenant, key, value);
  const noted = before === undefined ? 0 : heardEvents(before.instance).length;
  for (const place of heardEvents(record.instance).slice(noted)) noteSaga(tx, tenant, place, id);
  if (before?.instance.state === state) return value.length;
  const listed = encodeRecord(summarizeSaga(record.instance));
  for (const part of [ALL_SAGAS, name]) {
    if (before !== undefined) tx.clear(keys.sagaListed(tenant, part, before.instance.state, id));
    tx.set(keys.sagaListed(tenant, part, state, id), listed);
  }
  return value.length;
}

/** Removes a saga that has ended; a running one has waits and a timer beside it. */
export function removeSaga(tx: Transaction, tenant: number, record: SagaRecord): void {
  const { id, name, state } = record.instance;
  assert(isEndState(state), "a saga that runs is not removed");
  clearLargeValue(tx, tenant, keys.saga(tenant, id));
  for (const place of heardEvents(record.instance)) forgetSaga(tx, tenant, place, id);
  for (const part of [ALL_SAGAS, name]) tx.clear(keys.sagaListed(tenant, part, state, id));
}

/**
 * The events that have started the saga and moved it on, in their order. What it has written itself
 * does not count.
 */
function heardEvents({ trigger, history }: SagaInstance): EventPlace[] {
  const own = new Set<string>();
  const heard = new Map<string, EventPlace>();
  function hear({ key, stream_id }: EventReference): void {
    const place = placeOf(key, stream_id);
    const name = `${key}/${stream_id}`;
    if (place !== undefined && !own.has(name)) heard.set(name, place);
  }
  hear(trigger);
  for (const { outcome, event } of history) {
    if (event === undefined) continue;
    if (outcome === "emitted" || outcome === "compensated") {
      own.add(`${event.key}/${event.stream_id}`);
    } else hear(event);
  }
  return [...heard.values()];
}

/** Sizes of records as they were read, so that none is encoded only to learn its size. */
const storedBytes = new WeakMap<SagaRecord, number>();

/**
 * Whether the record was stored in pieces; looking for pieces where there are none costs a
 * range.
 */
function isLarge(record: SagaRecord): boolean {
  return bytesOfSaga(record) > kvLimits.valueBytesMax;
}

/** The bytes that a record takes, known of one that was read. */
export function bytesOfSaga(record: SagaRecord): number {
  return storedBytes.get(record) ?? encodeRecord(record).length;
}

/** At most `limit` sagas with an id below `start`, newest first: ids begin with their time. */
export async function listSagas(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  { name = ALL_SAGAS, state }: SagaFilter,
  page: { readonly start?: string; readonly limit: number },
): Promise<SagaSummary[]> {
  const states = state === undefined ? SAGA_STATES : [state];
  const lists = await Promise.all(states.map(async (each) => {
    const { begin, end } = keys.sagaList(tenant, name, each);
    const { start, limit } = page;
    const upTo = start === undefined ? end : keys.sagaListed(tenant, name, each, start);
    const pairs = await tx.getRange({ begin, end: upTo }, { limit, reverse: true });
    return pairs.map(({ value }) => decodeRecord<SagaSummary>(value));
  }));
  const newestFirst = (a: SagaSummary, b: SagaSummary) => a.saga_id < b.saga_id ? 1 : -1;
  return lists.flat().sort(newestFirst).slice(0, page.limit);
}

export interface AwaitedEvents {
  readonly stream: StreamKey;
  readonly eventTypes: readonly string[];
}

/** From now on, events of these types in the stream concern the saga, from the index `from` on. */
export function setSagaWaits(
  tx: Transaction,
  tenant: number,
  { stream, eventTypes }: AwaitedEvents,
  { sagaId, from }: SagaWait,
): void {
  for (const type of eventTypes) {
    tx.set(keys.sagaWait(tenant, stream, type, from, sagaId), PRESENT);
  }
}

export function clearSagaWaits(
  tx: Transaction,
  tenant: number,
  { stream, eventTypes }: AwaitedEvents,
  { sagaId, from }: SagaWait,
): void {
  for (const type of eventTypes) tx.clear(keys.sagaWait(tenant, stream, type, from, sagaId));
}

/**
 * At most `limit` sagas that wait for the event of that type at `index`; those that have waited
 * longest come first. Guarded.
 */
export async function listSagaWaits(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  event: { readonly stream: StreamKey; readonly eventType: string; readonly index: number },
  limit: number,
): Promise<SagaWait[]> {
  const { stream, eventType, index } = event;
  const { begin } = keys.sagaWaits(tenant, stream, eventType);
  const end = keys.sagaWait(tenant, stream, eventType, index + 1, "");
  const pairs = await tx.getRange({ begin, end }, { limit });
  return pairs.map(({ key }) => {
    const [from, sagaId] = unpack(key).slice(-2) as [number, string];
    return { sagaId, from };
  });
}

/** A definition with at most this many singletons is stored with them. */
const SINGLETONS_WITHIN_MAX = 50;

/** The singletons, or the hash under which their list is stored, once for all sagas of a spec. */
interface StoredDefinition extends Omit<KeptSagaDefinition, "singletons"> {
  readonly singletons: readonly string[] | string;
}

export async function readSagaDefinition(
  tx: Reads,
  tenant: number,
  hash: string,
): Promise<KeptSagaDefinition | undefined> {
  const stored = await readKept<StoredDefinition>(tx, tenant, hash);
  if (stored === undefined) return undefined;
  const { singletons } = stored;
  if (typeof singletons !== "string") return { ...stored, singletons };
  const list = await readKept<readonly string[]>(tx, tenant, singletons);
  assert(list !== undefined, "the singletons of a definition are kept");
  return { ...stored, singletons: list };
}

/** The names of a definition's steps; none if it is not kept. */
export async function readSagaStepNames(
  tx: Reads,
  tenant: number,
  hash: string,
): Promise<string[]> {
  const stored = await readKept<StoredDefinition>(tx, tenant, hash);
  return (stored?.saga.steps as { name: string }[] | undefined ?? []).map(({ name }) => name);
}

async function readKept<T>(tx: Reads, tenant: number, hash: string): Promise<T | undefined> {
  const key = keys.sagaDefinition(tenant, hash);
  const value = await tx.get(key);
  return value && decodeRecord<T>(await wholeValue(tx, tenant, key, value));
}

/**
 * Stores a definition unless it is stored already; it is never changed and never removed. Returns
 * the bytes that this takes.
 */
export async function keepSagaDefinition(
  tx: Transaction,
  tenant: number,
  hash: string,
  definition: KeptSagaDefinition,
): Promise<number> {
  if (await tx.get(keys.sagaDefinition(tenant, hash)) !== undefined) return 0;
  const { singletons } = definition;
  if (singletons.length <= SINGLETONS_WITHIN_MAX) return keep(tx, tenant, hash, definition);
  const listHash = hashOfList(singletons);
  const isListed = await tx.get(keys.sagaDefinition(tenant, listHash)) !== undefined;
  const bytes = isListed ? 0 : keep(tx, tenant, listHash, singletons);
  return bytes + keep(tx, tenant, hash, { ...definition, singletons: listHash });
}

function keep(tx: Transaction, tenant: number, hash: string, kept: object): number {
  const value = encodeRecord(kept);
  setLargeValue(tx, tenant, keys.sagaDefinition(tenant, hash), value);
  return value.length;
}

/** Known hashes: all sagas of a compiled spec share one list, which may have many thousands. */
const listHashes = new WeakMap<readonly string[], string>();

function hashOfList(names: readonly string[]): string {
  const known = listHashes.get(names) ?? canonicalHash([...names]);
  listHashes.set(names, known);
  return known;
}

/**
 * Removes the next sagas that an erased stream has started and that have ended. Other sagas that
 * hold its events go on, with markers in their place.
 */
export async function eraseFromSagas(
  tx: Transaction,
  erased: ErasedStream,
  after: Bytes | undefined,
): Promise<Bytes | undefined> {
  const { tenant } = erased;
  return await takePage(tx, keys.sagas(tenant), after, async ({ key, value }) => {
    const found = decodeRecord<SagaRecord>(await wholeValue(tx.unguarded, tenant, key, value));
    if (!holdsErased(found.instance, erased)) return;
    // Guarded, because the saga may be moving on just now.
    const record = await readSaga(tx, tenant, found.instance.id);
    if (record === undefined) return;
    const { instance } = record;
    if (isEndState(instance.state) && isStartedByErased(instance, erased)) {
      return removeSaga(tx, tenant, record);
    }
    saveSaga(tx, tenant, record, { ...record, instance: eraseEvents(instance, erased) });
  });
}

/** The saga that was looked at last, as the lists have it. */
export interface EndedSagaPlace {
  readonly state: SagaState;
  readonly id: string;
}

const END_STATES = SAGA_STATES.filter(isEndState);

export interface EndedSagaSweep {
  readonly after: EndedSagaPlace | undefined;
  /** Unix seconds. */
  readonly now: number;
  readonly limit: number;
}

/**
 * Looks at the next `limit` ended sagas of a tenant, and removes those that ended long enough
 * before `now`. `next` is where to go on; undefined when the tenant is done.
 */
export async function sweepEndedSagas(
  tx: Transaction,
  tenant: number,
  { after, now, limit }: EndedSagaSweep,
): Promise<{ readonly removed: number; readonly next: EndedSagaPlace | undefined }> {
  const endedBy = now - limits.sagaRetentionSeconds;
  let removed = 0;
  let looked = 0;
  for (const state of END_STATES.slice(after && END_STATES.indexOf(after.state))) {
    const all = keys.sagaList(tenant, ALL_SAGAS, state);
    const last = after?.state === state ? after.id : undefined;
    const begin = last === undefined
      ? all.begin
      : keyAfter(keys.sagaListed(tenant, ALL_SAGAS, state, last));
    const end = keys.sagaListed(tenant, ALL_SAGAS, state, sagaIdsFrom(endedBy + 1));
    const room = { limit: limit - looked };
    // Unguarded: an ended saga does not change any more.
    const pairs = await tx.unguarded.getRange({ begin, end }, room);
    const ids = pairs.map(({ key }) => unpack(key).at(-1) as string);
    const records = await Promise.all(ids.map((id) => readSaga(tx.unguarded, tenant, id)));
    for (const record of records) {
      if (record === undefined || record.instance.updatedAt > endedBy) continue;
      removeSaga(tx, tenant, record);
      removed++;
    }
    looked += ids.length;
    if (looked >= limit) return { removed, next: { state, id: ids.at(-1)! } };
  }
  return { removed, next: undefined };
}
