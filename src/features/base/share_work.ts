/**
 * Owns this process's share of the background work. If several processes share a store, each
 * holds leases on some shards of every queue. If the store has one owner, that process has all
 * shards.
 */

import { isRunning, type Lease, LEASE_RENEWAL_MS } from "../../domain/fairness/lease.ts";
import {
  planShare,
  QUEUE_NAMES,
  QUEUE_SHARDS,
  type QueueName,
} from "../../domain/fairness/work_share.ts";
import type { Host } from "../../host.ts";
import type { Engine, Transaction } from "../../kv/engine.ts";
import {
  claimLease,
  holdsLease,
  listWorkers,
  readLeases,
  registerWorker,
  releaseLease,
  removeSilentWorkers,
  removeWorker,
  renewLease,
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

/** For a store with several processes. Claims nothing before the first call. */
export function shareWork(engine: Engine, host: Host): WorkShare {
  const owner = host.randomBytes(OWNER_BYTES).toHex();
  let leases: readonly Lease[] = [];
  /** Leases held until what is under way in them has ended; nothing new begins there. */
  let leaving: readonly Lease[] = [];
  const busyTests = new Map<string, (shard: number) => boolean>();
  let renewedMs = -Infinity;
  let running: Promise<void> | undefined;
  let isReleased = false;

  function isDue(): boolean {
    const nowMs = host.nowMs();
    // Also due if the clock was set back, because time went on by the others' clocks.
    const pauseMs = leaving.length > 0 ? HANDOVER_MS : LEASE_RENEWAL_MS;
    return nowMs >= renewedMs + pauseMs || nowMs < renewedMs;
  }

  async function renewNow(): Promise<void> {
    const nowMs = host.nowMs();
    // Decided before the transaction: work that begins while it runs begins in none of these
    // shards.
    const free = new Set(leaving.filter((lease) => !isBusy(lease)).map(nameOf));
    const mayRelease = (lease: Lease) => !busyTests.has(lease.queue) || free.has(nameOf(lease));
    const taken = await engine.transact((tx) => takeShare(tx, owner, nowMs, mayRelease));
    leases = taken.kept;
    leaving = taken.leaving;
    renewedMs = nowMs;
  }

  function isBusy({ queue, shard }: Lease): boolean {
    return busyTests.get(queue)?.(shard) ?? false;
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
      const nowMs = host.nowMs();
      return leases.filter((lease) => lease.queue === queue && isRunning(lease, nowMs));
    },
    isRunning: (lease) => !isReleased && isRunning(lease, host.nowMs()),
    owns(queue, shard) {
      const lease = leases.find((each) => each.shard === shard && each.queue === queue);
      return lease !== undefined && isRunning(lease, host.nowMs());
    },
    keepWhileBusy: (queue, isBusy) => void busyTests.set(queue, isBusy),
    holds: holdsLease,
    renew,
    count() {
      const nowMs = host.nowMs();
      return countByQueue(leases.filter((lease) => isRunning(lease, nowMs)));
    },
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

/** One round of sharing. Returns the leases that the owner has from the commit on. */
async function takeShare(
  tx: Transaction,
  owner: string,
  nowMs: number,
  mayRelease: (lease: Lease) => boolean,
): Promise<Taken> {
  // Unguarded, because two processes that look at the same time do not conflict. Each lease is
  // checked again before it changes.
  const workers = await listWorkers(tx.unguarded);
  registerWorker(tx, owner, nowMs);
  removeSilentWorkers(tx, workers, nowMs);
  const taken: (Lease | undefined)[] = [];
  const leaving: (Lease | undefined)[] = [];
  for (const queue of QUEUE_NAMES) {
    const leases = await readLeases(tx.unguarded, queue);
    const plan = planShare(queue, { leases, workers, owner, nowMs });
    for (const lease of plan.release) {
      if (mayRelease(lease)) await releaseLease(tx, lease);
      else leaving.push(await renewLease(tx, lease, nowMs));
    }
    for (const lease of plan.renew) taken.push(await renewLease(tx, lease, nowMs));
    for (const name of plan.claim) taken.push(await claimLease(tx, name, owner, nowMs));
  }
  const isTaken = (lease: Lease | undefined) => lease !== undefined;
  return { kept: taken.filter(isTaken), leaving: leaving.filter(isTaken) };
}

/** For a store with one owner: it holds everything for ever, and nothing is written. */
export function ownAllWork(): WorkShare {
  const leases = QUEUE_NAMES.flatMap((queue) =>
    Array.from({ length: QUEUE_SHARDS[queue] }, (_, shard): Lease => (
      { queue, shard, owner: "sole", term: 1, endsMs: Infinity }
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
