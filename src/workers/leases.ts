/**
 * Keeps this process's share of the background work while the other workers are busy: a fold may
 * take longer than a lease lasts.
 */

import type { Service } from "../service.ts";
import type { Worker } from "./worker.ts";

/** More often than leases are renewed; what is not due does nothing. */
const IDLE_MS = 1_000;

export function leaseWorker(service: Service): Worker {
  return { name: "leases", idleMs: IDLE_MS, drain: () => service.background.renewShare() };
}
