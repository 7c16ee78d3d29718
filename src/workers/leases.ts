/**
 * Renews this process's share of the background work while the other workers are busy. It is a
 * worker of its own because a fold may take longer than a lease lasts.
 */

import type { Service } from "../features/service.ts";
import type { Worker } from "./worker.ts";

/** Shorter than the renewal interval of leases; a drain that is not due does nothing. */
const IDLE_MS = 1_000;

export function leaseWorker(service: Service): Worker {
  return { name: "leases", idleMs: IDLE_MS, drain: () => service.background.renewShare() };
}
