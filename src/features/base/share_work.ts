/**
 * Owns this process's share of the background work. If several processes share a store, each
 * holds leases on some shards of every queue. If the store has one owner, that process has all
 * shards.
 */

import {
  forgottenOwners,
  hear,
  type HeardWorkers,
  type Lease,
  LEASE_LIFETIME_MS,
  LEASE_RENEWAL_MS,
  type LeaseName,
  liveOwners,
} from "../../domain/fairness/lease.ts";
import {
  planShare,
  QUEUE_NAMES,
  QUEUE_SHARDS,
  type QueueName,
} from "../../domain/fairness/work_share.ts";
import type { Host } from "../../host.ts";
import type { Engine, Transaction } from "../../kv/engine.ts";
import {
  announceWorker,
  claimLease,
  holdsLease,
  listWorkers,
  readLeases,
  releaseLease,
  removeWorker,
} from "../../store/leases.ts";

export interface WorkShare {
  /** The shards of a queue that this process holds now. Renews and claims first if that is due. */
  held(queue: QueueName): Promise<readonly Lease[]>;
  /** Whether work may still be done under the lease, by this process's clock. */
  isRunning(lease: Lease): boolean;
  /** Whether this process holds a shard now. Does not access the store. */
  owns(queue: QueueName, shard: number): boolean;
  /**
   * From now on, a shard of the queue is handed over only when nothing is under way in it. The
   * process first stops working on it, and gives it up at a later renewal once it is not busy.
   */
  keepWhileBusy(queue: QueueName, isBusy: (shard: number) => boolean): void;
  /**
   * Must be checked in the transaction of each effect. Returns false if another process has the
   * lease.
   */
  holds(tx: Transaction, lease: Lease): Promise<boolean>;
  /** Renews leases, claims free ones and gives up surplus ones. Does nothing before that is due. */
  renew(): Promise<void>;
  /** How many shards of each queue this process holds now. Does not access the store. */
  count(): ReadonlyMap<QueueName, number>;
  /** Gives everything back so that others can continue at once, and claims nothing any more. */
  release(): Promise<void>;
}

const OWNER_BYTES = 16;
/**
 * Renewal interval while a lease is about to be given up: kept short, because nobody works
 * there.
 */
const HANDOVER_MS = 500;

/** Silent processes whose announcements are removed at once, at most. */
const REMOVED_MAX = 8;

/** For a store with several processes. Claims nothing before the first call. */
export function shareWork(engine: Engine, host: Host): WorkShare {
  const owner = host.randomBytes(OWNER_BYTES).toHex();
  let heard: HeardWorkers = new Map();
  let leases: readonly Lease[] = [];
  /** Leases held until what is under way in them has ended; nothing new begins there. */
  let leaving: readonly Lease[] = [];
  const busyTests = new Map<string, (shard: number) => boolean>();
  /** By the monotonic clock. */
  let renewedMs = -Infinity;
  let running: Promise<void> | undefined;
  let isReleased = false;

  function isDue(): boolean {
    const pauseMs = leaving.length > 0 ? HANDOVER_MS : LEASE_RENEWAL_MS;
    return host.monotonicMs() >= renewedMs + pauseMs;
  }

  function isHeard(): boolean {
    return !isReleased && host.monotonicMs() < renewedMs + LEASE_LIFETIME_MS;
  }

  async function renewNow(): Promise<void> {
    const beganMs = host.monotonicMs();
    const me = { owner, announcedMs: host.nowMs() };
    // Decided before the transaction: work that begins while it runs begins in none of these
    // shards.
    const free = new Set(leaving.filter((lease) => !isBusy(lease)).map(nameOf));
    const mayRelease = (lease: Lease) => !busyTests.has(lease.queue) || free.has(nameOf(lease));
    const taken = await engine.transact(async (tx) => {
      // Unguarded, because announcements must not conflict with each other.
      const workers = await listWorkers(tx.unguarded);
      const after = hear(heard, workers, beganMs - renewedMs);
      announceWorker(tx, me);
      for (const gone of forgottenOwners(after).slice(0, REMOVED_MAX)) removeWorker(tx, gone);
      const live = liveOwners(after);
      const shares = await Promise.all(
        QUEUE_NAMES.map((queue) => takeShare(tx, queue, { owner, live, mayRelease })),
      );
      return { heard: after, shares };
    });
    heard = taken.heard;
    leases = taken.shares.flatMap(({ kept }) => kept);
    leaving = taken.shares.flatMap((share) => share.leaving);
    renewedMs = beganMs;
  }

  function isBusy({ queue, shard }: Lease): boolean {
    return busyTests.get(queue)?.(shard) ?? false;
  }

  function find({ queue, shard }: LeaseName): Lease | undefined {
    return leases.find((lease) => lease.shard === shard && lease.queue === queue);
  }

  async function renew(): Promise<void> {
    if (running === undefined && (isReleased || !isDue())) return;
    running ??= renewNow().finally(() => running = undefined);
    await running;
  }

  async function release(): Promise<void> {
    isReleased = true;
    await running?.catch(() => {});
    const given = [...leases, ...leaving];
    leases = [];
    leaving = [];
    if (renewedMs === -Infinity) return;
    await engine.transact(async (tx) => {
      removeWorker(tx, owner);
      for (const lease of given) await releaseLease(tx, lease);
    });
  }

  return {
    async held(queue) {
      await renew();
      return isHeard() ? leases.filter((lease) => lease.queue === queue) : [];
    },
    isRunning: (lease) => isHeard() && find(lease)?.term === lease.term,
    owns: (queue, shard) => isHeard() && find({ queue, shard }) !== undefined,
    keepWhileBusy: (queue, isBusy) => void busyTests.set(queue, isBusy),
    holds: holdsLease,
    renew,
    count: () => countByQueue(isHeard() ? leases : []),
    release,
  };
}

function countByQueue(leases: readonly Lease[]): ReadonlyMap<QueueName, number> {
  return new Map(
    QUEUE_NAMES.map((name) => [name, leases.filter(({ queue }) => queue === name).length]),
  );
}

function nameOf({ queue, shard }: Lease): string {
  return `${queue} ${shard}`;
}

interface Taken {
  readonly kept: readonly Lease[];
  /** Beyond the share, but not to be given up yet. */
  readonly leaving: readonly Lease[];
}

/** How a process takes part in one round of sharing. */
interface Sharing {
  readonly owner: string;
  readonly live: ReadonlySet<string>;
  mayRelease(lease: Lease): boolean;
}

/** One round of sharing a queue. Returns the leases that the owner has from the commit on. */
async function takeShare(
  tx: Transaction,
  queue: QueueName,
  { owner, live, mayRelease }: Sharing,
): Promise<Taken> {
  // Guarded: what is kept has not been taken by another process when this commits.
  const leases = await readLeases(tx, queue);
  const plan = planShare(queue, { leases, live, owner });
  const leaving = plan.release.filter((lease) => !mayRelease(lease));
  const released = plan.release.filter(mayRelease);
  const [claimed] = await Promise.all([
    Promise.all(plan.claim.map((name) => {
      const before = leases.find(({ shard }) => shard === name.shard);
      return claimLease(tx, name, owner, before);
    })),
    ...released.map((lease) => releaseLease(tx, lease)),
  ]);
  return { kept: [...plan.keep, ...claimed], leaving };
}

/** For a store with one owner: it holds everything for ever, and nothing is written. */
export function ownAllWork(): WorkShare {
  const leases = QUEUE_NAMES.flatMap((queue) =>
    Array.from({ length: QUEUE_SHARDS[queue] }, (_, shard): Lease => (
      { queue, shard, owner: "sole", term: 1 }
    ))
  );
  return {
    held: (queue) => Promise.resolve(leases.filter((lease) => lease.queue === queue)),
    isRunning: () => true,
    owns: () => true,
    keepWhileBusy: () => {},
    holds: () => Promise.resolve(true),
    renew: () => Promise.resolve(),
    count: () => countByQueue(leases),
    release: () => Promise.resolve(),
  };
}
