/**
 * This process's share of the background work. Where several processes have one store, each keeps
 * leases on some shards of every queue; where the store has one owner, that one has all of them.
 */

import { isRunning, type Lease, LEASE_RENEWAL_MS } from "../domain/lease.ts";
import { planShare, QUEUE_NAMES, QUEUE_SHARDS, type QueueName } from "../domain/work_share.ts";
import type { Host } from "../host.ts";
import type { Engine, Transaction } from "../kv/engine.ts";
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
} from "../store/leases.ts";

export interface WorkShare {
  /** The shards of a queue that are this process's now. Renews and claims first when it is time. */
  held(queue: QueueName): Promise<readonly Lease[]>;
  /** Whether the lease may still be worked under, by this process's clock. */
  isRunning(lease: Lease): boolean;
  /** To be asked in the transaction of each effect: false, when another has the lease by now. */
  holds(tx: Transaction, lease: Lease): Promise<boolean>;
  /** Renews, claims what is free and gives up what is too much. Does nothing before it is time. */
  renew(): Promise<void>;
  /** How many shards of each queue are this process's now. Asks nobody. */
  count(): ReadonlyMap<QueueName, number>;
  /** Gives everything back, for others to go on at once, and takes nothing any more. */
  release(): Promise<void>;
}

const OWNER_BYTES = 16;

/** For a store with several processes. Nothing is claimed before the first call. */
export function shareWork(engine: Engine, host: Host): WorkShare {
  const owner = host.randomBytes(OWNER_BYTES).toHex();
  let leases: readonly Lease[] = [];
  let renewedMs = -Infinity;
  let running: Promise<void> | undefined;
  let isReleased = false;

  function isDue(): boolean {
    const nowMs = host.nowMs();
    // Also when the clock was set back: by the others' clocks time went on.
    return nowMs >= renewedMs + LEASE_RENEWAL_MS || nowMs < renewedMs;
  }

  async function renewNow(): Promise<void> {
    const nowMs = host.nowMs();
    leases = await engine.transact((tx) => takeShare(tx, owner, nowMs));
    renewedMs = nowMs;
  }

  async function renew(): Promise<void> {
    if (running === undefined && (isReleased || !isDue())) return;
    running ??= renewNow().finally(() => running = undefined);
    await running;
  }

  async function release(): Promise<void> {
    isReleased = true;
    await running?.catch(() => {});
    const given = leases;
    leases = [];
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

/** One turn of sharing: gives the leases that are the owner's from the commit on. */
async function takeShare(tx: Transaction, owner: string, nowMs: number): Promise<Lease[]> {
  // Unguarded, for two that look at the same time are no conflict; each lease is looked at again.
  const workers = await listWorkers(tx.unguarded);
  registerWorker(tx, owner, nowMs);
  removeSilentWorkers(tx, workers, nowMs);
  const taken: (Lease | undefined)[] = [];
  for (const queue of QUEUE_NAMES) {
    const leases = await readLeases(tx.unguarded, queue);
    const plan = planShare(queue, { leases, workers, owner, nowMs });
    for (const lease of plan.release) await releaseLease(tx, lease);
    for (const lease of plan.renew) taken.push(await renewLease(tx, lease, nowMs));
    for (const name of plan.claim) taken.push(await claimLease(tx, name, owner, nowMs));
  }
  return taken.filter((lease) => lease !== undefined);
}

/** For a store with one owner: everything is held for ever, and nothing is written. */
export function ownAllWork(): WorkShare {
  const leases = QUEUE_NAMES.flatMap((queue) =>
    Array.from({ length: QUEUE_SHARDS[queue] }, (_, shard): Lease => (
      { queue, shard, owner: "sole", term: 1, endsMs: Infinity }
    ))
  );
  return {
    held: (queue) => Promise.resolve(leases.filter((lease) => lease.queue === queue)),
    isRunning: () => true,
    holds: () => Promise.resolve(true),
    renew: () => Promise.resolve(),
    count: () => countByQueue(leases),
    release: () => Promise.resolve(),
  };
}
