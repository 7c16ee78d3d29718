/**
 * Delivers events to listeners. It is woken at once by what other processes have written; what
 * this process writes is already on its way.
 */

import type { Service } from "../features/service.ts";
import type { Worker } from "./worker.ts";

/** Covers what wakes no worker: lanes that were taken over, and endpoints due for another try. */
const IDLE_MS = 250;

export function deliveryWorker(service: Service): Worker {
  const { background } = service;
  return {
    name: "deliveries",
    idleMs: IDLE_MS,
    drain: (_limit, isStopping) => background.drainDeliveries(isStopping),
    listen: (wake) => background.followDeliveries(wake),
  };
}
