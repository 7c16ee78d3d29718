/**
 * Leases on shards of the background work. Owner and end are stored apart: a renewal changes
 * only the end, so it does not conflict with an effect that has looked at the owner.
 *
 * This order keeps work from being done twice in a harmful way: claim, read what waits, do it,
 * and commit the effect in a transaction that first asks {@link holdsLease}.
 */

import {
  isLeaseOver,
  type Lease,
  leaseEnd,
  type LeaseName,
  type Worker,
} from "../domain/fairness/lease.ts";
import type { Bytes, ReadTransaction, Transaction } from "../kv/engine.ts";
import { pack, unpack } from "../kv/tuple.ts";
import { deploymentKeys } from "./deployment_keys.ts";

const NOBODY = "";
/** How many silent workers are removed at once, at most. */
const WORKERS_REMOVED = 8;
const WORKER_KEPT_MS = 60_000;

/** All leases of a queue that were ever taken, expired ones included. */
export async function readLeases(
  tx: Pick<ReadTransaction, "getRange">,
  queue: string,
): Promise<Lease[]> {
  const pairs = await tx.getRange(deploymentKeys.leases(queue));
  const owners = new Map<number, Bytes>();
  const ends = new Map<number, Bytes>();
  for (const { key, value } of pairs) {
    const [shard, part] = unpack(key).slice(-2) as [number, number];
    (part === 0 ? owners : ends).set(shard, value);
  }
  return [...owners].map(([shard, owner]) => decode({ queue, shard }, owner, ends.get(shard))!);
}

/** Takes a lease that is free or expired; undefined if another owner has it. */
export async function claimLease(
  tx: Transaction,
  name: LeaseName,
  owner: string,
  nowMs: number,
): Promise<Lease | undefined> {
  const before = await readLease(tx, name);
  if (before !== undefined && before.owner !== owner && !isLeaseOver(before, nowMs)) {
    return undefined;
  }
  const { queue, shard } = name;
  const lease = { queue, shard, owner, term: (before?.term ?? 0) + 1, endsMs: leaseEnd(nowMs) };
  setOwner(tx, lease);
  setEnd(tx, lease);
  return lease;
}

/** Extends the lease; undefined if another owner has taken it. */
export async function renewLease(
  tx: Transaction,
  lease: Lease,
  nowMs: number,
): Promise<Lease | undefined> {
  // Even past its end: nobody else has claimed it, or the owner would have changed.
  if (!await holdsLease(tx, lease)) return undefined;
  const renewed = { ...lease, endsMs: leaseEnd(nowMs) };
  setEnd(tx, renewed);
  return renewed;
}

/** Gives a lease back; does nothing if another owner has taken it. */
export async function releaseLease(tx: Transaction, lease: Lease): Promise<void> {
  if (await holdsLease(tx, lease)) setOwner(tx, { ...lease, owner: NOBODY });
}

/**
 * Whether the lease is still as it was when claimed. Guarded, but never a conflict with
 * renewals.
 */
export async function holdsLease(
  tx: Pick<ReadTransaction, "get">,
  lease: Lease,
): Promise<boolean> {
  const owner = await tx.get(deploymentKeys.leaseOwner(lease.queue, lease.shard));
  const now = decode(lease, owner, undefined);
  return now?.owner === lease.owner && now.term === lease.term;
}

/** Announces that a process works, for as long as a lease taken now would last. */
export function registerWorker(tx: Transaction, owner: string, nowMs: number): void {
  tx.set(deploymentKeys.worker(owner), pack([leaseEnd(nowMs)]));
}

export function removeWorker(tx: Transaction, owner: string): void {
  tx.clear(deploymentKeys.worker(owner));
}

/** All processes that have announced that they work. */
export async function listWorkers(tx: Pick<ReadTransaction, "getRange">): Promise<Worker[]> {
  const pairs = await tx.getRange(deploymentKeys.workers());
  return pairs.map(({ key, value }) => ({
    owner: unpack(key).at(-1) as string,
    endsMs: unpack(value)[0] as number,
  }));
}

/** Removes some of the workers whose announcement ended more than a minute ago. */
export function removeSilentWorkers(
  tx: Transaction,
  workers: readonly Worker[],
  nowMs: number,
): void {
  const silent = workers.filter(({ endsMs }) => endsMs + WORKER_KEPT_MS < nowMs);
  for (const { owner } of silent.slice(0, WORKERS_REMOVED)) removeWorker(tx, owner);
}

async function readLease(
  tx: Pick<ReadTransaction, "get">,
  name: LeaseName,
): Promise<Lease | undefined> {
  const [owner, end] = await Promise.all([
    tx.get(deploymentKeys.leaseOwner(name.queue, name.shard)),
    tx.get(deploymentKeys.leaseEnd(name.queue, name.shard)),
  ]);
  return decode(name, owner, end);
}

function decode(
  { queue, shard }: LeaseName,
  ownerValue: Bytes | undefined,
  endValue: Bytes | undefined,
): Lease | undefined {
  if (ownerValue === undefined) return undefined;
  const [owner, term] = unpack(ownerValue) as [string, number];
  const endsMs = endValue === undefined ? 0 : unpack(endValue)[0] as number;
  return { queue, shard, owner, term, endsMs };
}

function setOwner(tx: Transaction, { queue, shard, owner, term }: Lease): void {
  tx.set(deploymentKeys.leaseOwner(queue, shard), pack([owner, term]));
}

function setEnd(tx: Transaction, { queue, shard, endsMs }: Lease): void {
  tx.set(deploymentKeys.leaseEnd(queue, shard), pack([endsMs]));
}
