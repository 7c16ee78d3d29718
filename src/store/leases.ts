/**
 * Leases on shards of the background work, and the processes that announce that they work. An
 * announcement changes one key, which no effect reads, so nothing conflicts with it.
 *
 * This order keeps work from being done twice in a harmful way: claim, read what waits, do it,
 * and commit the effect in a transaction that first asks {@link holdsLease}.
 */

import type { Lease, LeaseName, Worker } from "../domain/fairness/lease.ts";
import type { ReadTransaction, Transaction } from "../kv/engine.ts";
import { pack, unpack } from "../kv/tuple.ts";
import { deploymentKeys } from "./deployment_keys.ts";

const NOBODY = "";

/** All leases of a queue that were ever taken. */
export async function readLeases(
  tx: Pick<ReadTransaction, "getRange">,
  queue: string,
): Promise<Lease[]> {
  const pairs = await tx.getRange(deploymentKeys.leases(queue));
  const leases: Lease[] = [];
  for (const { key, value } of pairs) {
    const [shard, part] = unpack(key).slice(-2) as [number, number];
    // Earlier builds have kept the end of each lease beside its owner.
    if (part === 0) leases.push(decode({ queue, shard }, value));
  }
  return leases;
}

/**
 * Takes a lease that is free, or whose owner has been silent for too long.
 * @param before what the caller has read, guarded, in the same transaction; undefined if nobody
 * ever had it.
 */
export async function claimLease(
  tx: Transaction,
  name: LeaseName,
  owner: string,
  before: Lease | undefined,
): Promise<Lease> {
  // A conflict if the owner announces itself meanwhile.
  if (before !== undefined && before.owner !== NOBODY) {
    await tx.get(deploymentKeys.worker(before.owner));
  }
  const { queue, shard } = name;
  const lease = { queue, shard, owner, term: (before?.term ?? 0) + 1 };
  setOwner(tx, lease);
  return lease;
}

/** Gives a lease back; does nothing if another owner has taken it. */
export async function releaseLease(tx: Transaction, lease: Lease): Promise<void> {
  if (await holdsLease(tx, lease)) setOwner(tx, { ...lease, owner: NOBODY });
}

/** Whether the lease is still as it was when claimed. Guarded. */
export async function holdsLease(
  tx: Pick<ReadTransaction, "get">,
  lease: Lease,
): Promise<boolean> {
  const value = await tx.get(deploymentKeys.leaseOwner(lease.queue, lease.shard));
  if (value === undefined) return false;
  const { owner, term } = decode(lease, value);
  return owner === lease.owner && term === lease.term;
}

/** Announces that a process works. */
export function announceWorker(tx: Transaction, { owner, announcedMs }: Worker): void {
  tx.set(deploymentKeys.worker(owner), pack([announcedMs]));
}

export function removeWorker(tx: Transaction, owner: string): void {
  tx.clear(deploymentKeys.worker(owner));
}

/** All processes that have announced that they work. */
export async function listWorkers(tx: Pick<ReadTransaction, "getRange">): Promise<Worker[]> {
  const pairs = await tx.getRange(deploymentKeys.workers());
  return pairs.map(({ key, value }) => ({
    owner: unpack(key).at(-1) as string,
    announcedMs: unpack(value)[0] as number,
  }));
}

function decode({ queue, shard }: LeaseName, value: Uint8Array): Lease {
  const [owner, term] = unpack(value) as [string, number];
  return { queue, shard, owner, term };
}

function setOwner(tx: Transaction, { queue, shard, owner, term }: Lease): void {
  tx.set(deploymentKeys.leaseOwner(queue, shard), pack([owner, term]));
}
