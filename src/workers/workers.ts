/**
 * The background workers of a server: for each, the call that does what is due, and how long it
 * waits when nothing is. `worker.ts` has the loop that runs them.
 */

import type { Service } from "../features/service.ts";
import type { Worker } from "./worker.ts";

const MS_PER_SECOND = 1000;
/** How often it is looked whether an anchor is due. */
const ANCHOR_IDLE_MS_MAX = 10_000;
/** Covers what wakes no worker: lanes that were taken over, and endpoints due for another try. */
const DELIVERY_IDLE_MS = 250;
const ERASURE_IDLE_MS = 500;
/** Shorter than the renewal interval of leases; a drain that is not due does nothing. */
const LEASE_IDLE_MS = 200;
const MEMORY_IDLE_MS = 500;
/** Entries of a process that died are left alone for a second anyway. */
const OUTBOX_IDLE_MS = 500;
const SNAPSHOT_IDLE_MS = 500;
const SWEEPER_IDLE_MS = 250;
const SWEEPER_ENTRIES = 500;
const COPY_IDLE_MS = 30_000;
/** Covers what wakes no worker: shards of the log that were taken over. */
const PROJECTION_IDLE_MS = 250;
/**
 * A drain costs as much as some dozen rows, so it pays to show many writes together. The added
 * delay goes unnoticed, and a write after a pause is not delayed at all.
 */
const PROJECTION_GATHER_MS = 10;
/** Builds are polled for: being woken by every write would cost more. */
/** There is nothing to do, except after an upgrade. */
const FEED_FILL_IDLE_MS = 60_000;
const BUILD_IDLE_MS = 100;
/** A request that leaves something to count wakes the worker. */
const TYPE_COUNT_IDLE_MS = 60_000;

/** Makes anchors at their interval, if something has changed. See docs/reference/audit.md. */
export function anchorWorker(service: Service, intervalSeconds: number): Worker {
  const intervalMs = intervalSeconds * MS_PER_SECOND;
  return {
    name: "anchors",
    idleMs: Math.min(intervalMs, ANCHOR_IDLE_MS_MAX),
    drain: (_limit, isStopping) => service.audit.makeDueAnchors(intervalMs, isStopping),
  };
}

/**
 * Delivers events to listeners. It is woken at once by what other processes have written; what
 * this process writes is already on its way.
 */
export function deliveryWorker({ background }: Service): Worker {
  return {
    name: "deliveries",
    idleMs: DELIVERY_IDLE_MS,
    drain: (_limit, isStopping) => background.drainDeliveries(isStopping),
    listen: (wake) => background.followDeliveries(wake),
  };
}

/** Erases streams whose grace period is over. See docs/reference/erasure.md. */
export function erasureWorker({ erasure }: Service): Worker {
  return {
    name: "erasures",
    idleMs: ERASURE_IDLE_MS,
    drain: (limit, isStopping) => erasure.eraseDue(limit, isStopping),
  };
}

/**
 * Renews this process's share of the background work while the other workers are busy. It is a
 * worker of its own because a fold may take longer than a lease lasts.
 */
export function leaseWorker({ background }: Service): Worker {
  return { name: "leases", idleMs: LEASE_IDLE_MS, drain: () => background.renewShare() };
}

/**
 * Saves what only this process's memory has. These are states that reads have folded, and error
 * records that the store did not take. It runs wherever requests are answered, even if other
 * processes do the rest of the background work.
 */
export function memoryWorker({ background }: Service): Worker {
  return {
    name: "memory",
    idleMs: MEMORY_IDLE_MS,
    drain: (limit, isStopping) => background.saveMemory(limit, isStopping),
  };
}

/**
 * Processes outbox entries that the process which wrote them did not process itself. It may
 * have died or had too much to do, or the store was unavailable. A write that leaves its
 * entries to the workers on purpose wakes this one.
 */
export function outboxWorker({ background }: Service): Worker {
  return {
    name: "outbox",
    idleMs: OUTBOX_IDLE_MS,
    drain: (limit, isStopping) => background.drainOutbox(limit, isStopping),
    listen: (wake) => background.followOutbox(wake),
  };
}

/** Keeps snapshots close to the heads of their streams, after deploys and as streams grow. */
export function snapshotWorker({ background }: Service): Worker {
  return {
    name: "snapshots",
    idleMs: SNAPSHOT_IDLE_MS,
    drain: (limit, isStopping) => background.rebuildSnapshots(limit, isStopping),
  };
}

/**
 * Removes what has outlived its retention, a little at a time. It looks at about 2,000 ledger
 * entries a second, and at more if many of them have expired.
 */
export function sweeper({ background }: Service): Worker {
  return {
    name: "sweeper",
    idleMs: SWEEPER_IDLE_MS,
    drain: () => background.sweep(SWEEPER_ENTRIES),
  };
}

/** Processes the timers that are due: scheduled events, sagas, delivery retries and erasures. */
export function timerWorker({ background }: Service): Worker {
  return {
    name: "timers",
    /** Until the next known timer, and half a second at most. */
    get idleMs() {
      return background.timerPauseMs();
    },
    drain: (limit, isStopping) => background.drainTimers(limit, isStopping),
  };
}

/**
 * Keeps this process's SQL copies of projections close to the store. So they are nearly current
 * when a query arrives, and data that is erased in the store does not stay in them. It runs
 * wherever requests are answered.
 */
export function projectionCopyWorker({ sql }: Service): Worker {
  return {
    name: "view copies",
    idleMs: COPY_IDLE_MS,
    async drain() {
      await sql.sweepCopies();
      return 0;
    },
  };
}

/** Keeps projections up to date with what was written. */
export function projectionWorker({ projections }: Service): Worker {
  return {
    name: "views",
    idleMs: PROJECTION_IDLE_MS,
    gatherMs: PROJECTION_GATHER_MS,
    drain: (limit, isStopping) => projections.keepProjections(limit, isStopping),
    listen: (wake) => projections.followCommits(wake),
  };
}

/** Fills in the feeds of stores made before there was one. */
export function feedFillWorker({ feed }: Service): Worker {
  return {
    name: "feed fill",
    idleMs: FEED_FILL_IDLE_MS,
    drain: (_limit, isStopping) => feed.fill(isStopping),
  };
}

/** Counts the aggregates and events of types where requests have found much to count. */
export function typeCountWorker({ feed }: Service): Worker {
  return {
    name: "type counts",
    idleMs: TYPE_COUNT_IDLE_MS,
    drain: (_limit, isStopping) => feed.countTypes(isStopping),
    listen: (wake) => feed.followCounts(wake),
  };
}

/** Builds projections, in a loop of its own: a long build must not delay those that are read. */
export function projectionBuildWorker({ projections }: Service): Worker {
  return {
    name: "view builds",
    idleMs: BUILD_IDLE_MS,
    drain: (_limit, isStopping) => projections.buildProjections(isStopping),
  };
}
