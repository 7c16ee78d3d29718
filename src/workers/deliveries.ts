/**
 * Delivers events to listeners. Woken at once by what other processes have written; what this one
 * writes is on its way already.
 */

import type { Service } from "../service.ts";
import type { Worker } from "./worker.ts";

/** What nobody wakes it for: lanes taken over, and endpoints that are to be tried again. */
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
