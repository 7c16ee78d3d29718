/** How the processes of a deployment share background work: queues in shards, equal shares each. */

import type { Lease, LeaseName } from "./lease.ts";

/**
 * The queues and their number of shards. One process at a time works on a shard, so more shards
 * let more processes help. A number must never change, because keys of waiting work contain the
 * shard.
 */
export const QUEUE_SHARDS = {
  /** Streams to fold in the background. */
  rebuild: 16,
  /** What written events have caused and nobody has done yet. */
  outbox: 16,
  /** Work that becomes due at a certain time. */
  timer: 16,
  /** Lanes of deliveries: one listener and one stream each. */
  lane: 16,
  /** Upkeep of projections, by environment, and their builds. */
  view: 16,
  /** Removal of expired records. One walk is enough. */
  sweep: 1,
  /** Making anchors. */
  anchor: 1,
  /** Erasing streams. */
  erasure: 1,
} as const;

export type QueueName = keyof typeof QUEUE_SHARDS;

export const QUEUE_NAMES = Object.keys(QUEUE_SHARDS) as readonly QueueName[];

/** The shard of work about `subject`: always the same one, and shards are used about evenly. */
export function shardOf(queue: QueueName, subject: string): number {
  return hashText(subject) % QUEUE_SHARDS[queue];
}

export interface ShareView {
  /** All leases of the queue that were ever taken. */
  readonly leases: readonly Lease[];
  /** The processes that work. */
  readonly live: ReadonlySet<string>;
  /** Who plans; it need not be among the live ones yet. */
  readonly owner: string;
}

/** What a process does next about one queue. */
export interface SharePlan {
  readonly keep: readonly Lease[];
  /** Free shards to claim. Another process may be faster. */
  readonly claim: readonly LeaseName[];
  /** Leases beyond its share, released for processes that have less. */
  readonly release: readonly Lease[];
}

/**
 * Each working process gets as many shards as the others, or one more. It keeps what it has up
 * to its share, and takes what it lacks from the free shards.
 */
export function planShare(queue: QueueName, { leases, live, owner }: ShareView): SharePlan {
  const share = shareOf(queue, owner, [...live.union(new Set([owner]))].sort());
  const running = leases.filter((lease) => lease.owner === owner || live.has(lease.owner));
  const own = running.filter((lease) => lease.owner === owner);
  const taken = new Set(running.map(({ shard }) => shard));
  const free = Array.from({ length: QUEUE_SHARDS[queue] }, (_, shard) => ({ queue, shard }))
    .filter(({ shard }) => !taken.has(shard));
  const keep = own.slice(0, share);
  return {
    keep,
    claim: free.slice(0, share - keep.length),
    release: own.slice(share),
  };
}

/**
 * Shares go by the order of owner ids. Each queue starts that order elsewhere, so that queues
 * with a single shard fall to different processes.
 */
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
