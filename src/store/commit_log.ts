/**
 * The commit log: which stream grew by which events, in the order in which that became visible.
 * A reader that has seen a place in it will never find anything new before that place. It is
 * written only where something reads it (`watched_types.ts`, `logged`).
 */

import { Buffer } from "node:buffer";
import { assert } from "../domain/assert.ts";
import type { StreamKey } from "../domain/stream_key.ts";
import { COMMIT_LOG_SHARDS, commitLogShard } from "../domain/fairness/work_share.ts";
import type { Bytes, KeyValue, ReadTransaction, Transaction } from "../kv/engine.ts";
import { newBytes } from "../kv/slab.ts";
import { pack, unpack } from "../kv/tuple.ts";
import { keyAfter, keys } from "./keys.ts";

/** Events of one stream that one commit appended. */
export interface CommittedEvents {
  readonly stream: StreamKey;
  /** Index of the first event. */
  readonly first: number;
  readonly count: number;
}

export interface LoggedCommit extends CommittedEvents {
  readonly shard: number;
  /** The cursor for a reader that has done everything up to this commit. */
  readonly position: Bytes;
}

/** Tells watchers that something was put into the log. At most once in a transaction. */
export function signalCommits(tx: Transaction): void {
  tx.add(keys.commitSignal(), 1n);
}

/** At most once for a stream in a transaction, because its place is the stamp of the commit. */
export function logCommit(tx: Transaction, tenant: number, events: CommittedEvents): void {
  const { stream, first, count } = events;
  const prefix = keys.commitLog(tenant, commitLogShard(`${tenant}/${stream}`));
  tx.setStamped(prefix, pack([stream]), pack([first, count]));
}

export interface CommitPage {
  readonly shard: number;
  readonly position: Bytes | undefined;
  readonly limit: number;
}

/**
 * At most `limit` commits of one shard after `position`, or from the start if that is undefined.
 */
export async function readCommits(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  { shard, position, limit }: CommitPage,
): Promise<LoggedCommit[]> {
  const range = afterPosition(tenant, shard, position);
  const pairs = await tx.getRange(range, { limit });
  return pairs.map((pair) => decodeCommit(tenant, shard, pair));
}

/** At most `limit` commits of the shards from `shard` up to but not including `end`, by shard. */
export async function readShards(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  { shard, end }: { readonly shard: number; readonly end: number },
  limit: number,
): Promise<LoggedCommit[]> {
  const range = { begin: keys.commitLog(tenant, shard), end: keys.commitLog(tenant, end) };
  let at = shard;
  let next = keys.commitLog(tenant, at + 1);
  return (await tx.getRange(range, { limit })).map((pair) => {
    while (Buffer.compare(pair.key, next) >= 0) next = keys.commitLog(tenant, ++at + 1);
    return decodeCommit(tenant, at, pair);
  });
}

function decodeCommit(tenant: number, shard: number, { key, value }: KeyValue): LoggedCommit {
  const position = key.slice(keys.commitLog(tenant, shard).length);
  const [stream] = unpack(position.slice(STAMP_BYTES)) as [StreamKey];
  const [first, count] = unpack(value) as [number, number];
  return { shard, stream, first, count, position };
}

/** Removes commits that all readers have done, one by one. */
export function removeCommits(
  tx: Transaction,
  tenant: number,
  commits: readonly Pick<LoggedCommit, "shard" | "position">[],
): void {
  for (const { shard, position } of commits) {
    tx.clear(keyAt(tenant, shard, position));
  }
}

/** Whether anything is left in the log of an environment. */
export async function hasCommits(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
): Promise<boolean> {
  return (await tx.getRange(wholeLog(tenant), { limit: 1 })).length > 0;
}

/** How many commits are left in it, counted up to `max`. */
export async function countCommits(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  max: number,
): Promise<number> {
  return (await tx.getRange(wholeLog(tenant), { limit: max, keysOnly: true })).length;
}

/** The position of the newest commit of a shard; undefined if it is empty. */
export async function lastCommitPosition(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  shard: number,
): Promise<Bytes | undefined> {
  const [last] = await tx.getRange(logRange(tenant, shard), { limit: 1, reverse: true });
  return last?.key.slice(keys.commitLog(tenant, shard).length);
}

/** Whether commits up to and including `position` are left in a shard. */
export async function hasCommitsUntil(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  shard: number,
  position: Bytes,
): Promise<boolean> {
  const { begin } = logRange(tenant, shard);
  const { begin: end } = afterPosition(tenant, shard, position);
  return (await tx.getRange({ begin, end }, { limit: 1 })).length > 0;
}

function wholeLog(tenant: number) {
  return { begin: keys.commitLog(tenant, 0), end: keys.commitLog(tenant, COMMIT_LOG_SHARDS) };
}

const STAMP_BYTES = 10;

function afterPosition(tenant: number, shard: number, position: Bytes | undefined) {
  const range = logRange(tenant, shard);
  if (position === undefined) return range;
  assert(position.length > STAMP_BYTES, "a position in the log is a stamp and a stream");
  return { begin: keyAfter(keyAt(tenant, shard, position)), end: range.end };
}

function keyAt(tenant: number, shard: number, position: Bytes): Bytes {
  const prefix = keys.commitLog(tenant, shard);
  const key = newBytes(prefix.length + position.length);
  key.set(prefix);
  key.set(position, prefix.length);
  return key;
}

/** A stamp may have any bytes, also those with which no element of a tuple begins. */
function logRange(tenant: number, shard: number) {
  const begin = keys.commitLog(tenant, shard);
  return { begin, end: keys.commitLog(tenant, shard + 1) };
}
