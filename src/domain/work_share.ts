/** How the processes of a deployment share its background work: queues in shards, equal shares. */

import { isOver, type Lease, type LeaseName, type Worker } from "./lease.ts";

/**
 * The queues and their shards. One process works on a shard at a time, so more shards let more
 * processes help. A number may never change: it is in the keys of what waits.
 */
export const QUEUE_SHARDS = {
  /** Streams to be folded in the background. */
  rebuild: 16,
  /** What written events set off and what nobody has done yet. */
  outbox: 16,
  /** What is to be done at a time. */
  timer: 16,
  /** Lanes of deliveries: what one listener is to hear of one stream. */
  lane: 16,
  /** Upkeep of views, by the parts of the log of commits, and their builds. */
  view: 16,
  /** Removal of what is older than its day; one walk is enough. */
  sweep: 1,
  /** Making anchors. */
  anchor: 1,
  /** Erasing streams. */
  erasure: 1,
} as const;

export type QueueName = keyof typeof QUEUE_SHARDS;

export const QUEUE_NAMES = Object.keys(QUEUE_SHARDS) as readonly QueueName[];

/** The shard in which work about `subject` waits: always the same; all are about evenly used. */
export function shardOf(queue: QueueName, subject: string): number {
  return hashText(subject) % QUEUE_SHARDS[queue];
}

/** Parts of the log of commits of one environment, by stream. It may never change either. */
export const COMMIT_LOG_SHARDS = 16;

export function commitLogShard(subject: string): number {
  return hashText(subject) % COMMIT_LOG_SHARDS;
}

/** Parts of the count of events of one environment, by any subject. */
export const USAGE_SHARDS = 8;

export function usageShard(subject: string): number {
  return hashText(subject) % USAGE_SHARDS;
}

export interface ShareView {
  /** All leases of the queue that were ever taken. */
  readonly leases: readonly Lease[];
  /** All that said they work. */
  readonly workers: readonly Worker[];
  readonly owner: string;
  readonly nowMs: number;
}

/** What a process does next about one queue. */
export interface SharePlan {
  readonly renew: readonly Lease[];
  /** Now free; others may be faster. */
  readonly claim: readonly LeaseName[];
  /** More than its share: for those that have less. */
  readonly release: readonly Lease[];
}

/**
 * Each working process gets as many shards as the others, or one more. What it has, it keeps as
 * far as its share goes; what it lacks, it takes from what is free.
 */
export function planShare(queue: QueueName, view: ShareView): SharePlan {
  const { leases, workers, owner, nowMs } = view;
  const share = shareOf(queue, owner, liveOwners(workers, owner, nowMs));
  const running = leases.filter((lease) => !isOver(lease, nowMs) || lease.owner === owner);
  const own = running.filter((lease) => lease.owner === owner);
  const taken = new Set(running.map(({ shard }) => shard));
  const free = Array.from({ length: QUEUE_SHARDS[queue] }, (_, shard) => ({ queue, shard }))
    .filter(({ shard }) => !taken.has(shard));
  const renew = own.slice(0, share);
  return {
    renew,
    claim: free.slice(0, share - renew.length),
    release: own.slice(share),
  };
}

function liveOwners(workers: readonly Worker[], self: string, nowMs: number): string[] {
  const others = workers.filter((worker) => worker.owner !== self && !isOver(worker, nowMs));
  return [self, ...others.map(({ owner }) => owner)].sort();
}

/** By the order of ids, begun elsewhere for each queue, so that small queues lie apart. */
function shareOf(queue: QueueName, owner: string, owners: readonly string[]): number {
  const shards = QUEUE_SHARDS[queue];
  const rank = (owners.indexOf(owner) + hashText(queue)) % owners.length;
  return Math.floor(shards / owners.length) + (rank < shards % owners.length ? 1 : 0);
}

/** FNV-1a, 32 bits, over UTF-16 code units. */
function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193) >>> 0;
  }
  return hash;
}
