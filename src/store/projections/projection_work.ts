/**
 * Pending work on versions of projections, and how many commits a version has missed. The work
 * is the progress of a build, streams shown by so many rows that these are refreshed step by
 * step, and rows to be tried again. A version misses commits while nothing keeps it up to date.
 * A transfer carries none of this.
 */

import type { ProjectionPlace } from "../../domain/projection/ready_projection.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { ReadTransaction, Transaction } from "../../kv/engine.ts";
import { viewOf } from "../../kv/slab.ts";
import { unpack } from "../../kv/tuple.ts";
import { decodeRecord, encodeRecord } from "../json_record.ts";
import { keys } from "../keys.ts";

type Reads = Pick<ReadTransaction, "get" | "getRange">;

export interface BuildProgress {
  /** The last id whose row is written; undefined at the start. */
  readonly after?: string;
  /** Whether all rows are written, so that the version can be checked and switched to. */
  readonly isWhole: boolean;
  readonly rows: number;
  /** Unix milliseconds. */
  readonly startedMs: number;
  /** Why the build started again, and how often. */
  readonly error?: string;
  readonly restarts: number;
  /** Work on it must not begin before this time. */
  readonly notBeforeMs?: number;
}

export async function readBuild(
  tx: Reads,
  place: ProjectionPlace,
): Promise<BuildProgress | undefined> {
  const value = await tx.get(keys.projectionBuild(place.tenant, place.number, place.version));
  return value && decodeRecord<BuildProgress>(value);
}

export function setBuild(tx: Transaction, place: ProjectionPlace, progress: BuildProgress): void {
  tx.set(keys.projectionBuild(place.tenant, place.number, place.version), encodeRecord(progress));
}

export function clearBuild(tx: Transaction, { tenant, number, version }: ProjectionPlace): void {
  tx.clear(keys.projectionBuild(tenant, number, version));
}

/** Adds, without reading, commits that the version does not show and never will. */
export function addMissed(
  tx: Pick<Transaction, "add">,
  { tenant, number, version }: ProjectionPlace,
  commits: number,
): void {
  tx.add(keys.projectionMissed(tenant, number, version), BigInt(commits));
}

export async function readMissed(
  tx: Pick<ReadTransaction, "get">,
  { tenant, number, version }: ProjectionPlace,
): Promise<number> {
  const value = await tx.get(keys.projectionMissed(tenant, number, version));
  return value === undefined ? 0 : Number(viewOf(value).getBigInt64(0, true));
}

/** Rows that show `stream`, refreshed step by step. */
export interface RefreshWork {
  readonly stream: StreamKey;
  /** The last row that was refreshed; undefined at the start. */
  readonly after?: string;
  /** Whether the stream has grown since the walk began: then another walk follows. */
  readonly isAgain: boolean;
}

/** Puts a stream on the list, or has the walk under way followed by another. Guarded. */
export async function addRefresh(tx: Transaction, place: ProjectionPlace, stream: StreamKey) {
  const key = keys.projectionRefresh(place.tenant, place.number, place.version, stream);
  const before = await tx.get(key);
  const work = before && decodeRecord<RefreshWork>(before);
  if (work?.isAgain) return;
  const { after } = work ?? {};
  tx.set(key, encodeRecord({ stream, after, isAgain: after !== undefined }));
}

export async function listRefreshes(
  tx: Reads,
  { tenant, number, version }: ProjectionPlace,
  limit: number,
): Promise<RefreshWork[]> {
  const pairs = await tx.getRange(keys.projectionRefreshes(tenant, number, version), { limit });
  return pairs.map(({ value }) => decodeRecord<RefreshWork>(value));
}

export async function hasRefresh(tx: Reads, place: ProjectionPlace): Promise<boolean> {
  return (await listRefreshes(tx, place, 1)).length > 0;
}

/**
 * Moves a walk to the row `after`, or ends it if that is undefined. Returns false, and does
 * nothing, if another process has moved it.
 */
export async function moveRefresh(
  tx: Transaction,
  place: ProjectionPlace,
  work: RefreshWork,
  after: string | undefined,
): Promise<boolean> {
  const { stream } = work;
  const key = keys.projectionRefresh(place.tenant, place.number, place.version, stream);
  const value = await tx.get(key);
  const now = value && decodeRecord<RefreshWork>(value);
  if (now === undefined || now.after !== work.after) return false;
  if (after !== undefined) tx.set(key, encodeRecord({ ...now, after }));
  else if (now.isAgain) tx.set(key, encodeRecord({ stream, isAgain: false }));
  else tx.clear(key);
  return true;
}

export interface RetryWork {
  readonly dueMs: number;
  readonly row: string;
}

/** The most characters of a message that are kept beside a retry. */
const RETRY_MESSAGE_CHARACTERS_MAX = 2_000;

/** `message`: why the row failed, for those who list projections and do not read large rows. */
export function addRetry(
  tx: Transaction,
  { tenant, number, version }: ProjectionPlace,
  { dueMs, row }: RetryWork,
  message: string,
): void {
  const record: RetryRecord = { message: message.slice(0, RETRY_MESSAGE_CHARACTERS_MAX) };
  tx.set(keys.projectionRetry(tenant, number, version, dueMs, row), encodeRecord(record));
}

interface RetryRecord {
  readonly message: string;
}

export function clearRetry(
  tx: Transaction,
  { tenant, number, version }: ProjectionPlace,
  { dueMs, row }: RetryWork,
): void {
  tx.clear(keys.projectionRetry(tenant, number, version, dueMs, row));
}

/** At most `limit` of the waiting retries, earliest first. */
export async function listRetries(
  tx: Reads,
  { tenant, number, version }: ProjectionPlace,
  limit: number,
): Promise<RetryWork[]> {
  const options = { limit, keysOnly: true };
  const pairs = await tx.getRange(keys.projectionRetries(tenant, number, version), options);
  return pairs.map(({ key }) => {
    const [dueMs, row] = unpack(key).slice(-2) as [number, string];
    return { dueMs, row };
  });
}

export interface RetryCount {
  readonly count: number;
  /** Why the row failed that is tried again first; older versions have not kept it. */
  readonly message?: string;
}

/** Counts the waiting retries up to `max`, without reading more than the keys of all but one. */
export async function countRetries(
  tx: Reads,
  { tenant, number, version }: ProjectionPlace,
  max: number,
): Promise<RetryCount> {
  const range = keys.projectionRetries(tenant, number, version);
  const [first] = await tx.getRange(range, { limit: 1 });
  if (first === undefined) return { count: 0 };
  const pairs = await tx.getRange(range, { limit: max, keysOnly: true });
  const { value } = first;
  const message = value.length === 0 ? undefined : decodeRecord<RetryRecord>(value).message;
  return { count: pairs.length, message };
}

/** Whether rows are to be refreshed, or tried again by now. */
export async function hasDueWork(
  tx: Reads,
  place: ProjectionPlace,
  nowMs: number,
): Promise<boolean> {
  const [retries, isRefreshing] = await Promise.all([
    listRetries(tx, place, 1),
    hasRefresh(tx, place),
  ]);
  return isRefreshing || (retries[0] !== undefined && retries[0].dueMs <= nowMs);
}
