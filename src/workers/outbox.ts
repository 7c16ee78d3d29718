/**
 * Processes outbox entries that the process which wrote them did not process itself. It may
 * have died or had too much to do, or the store was unavailable. A write that leaves its
 * entries to the workers on purpose wakes this one.
 */

import type { Service } from "../features/service.ts";
import type { Worker } from "./worker.ts";

/**
 * Entries of a process that died are left alone for a second anyway, so twice a second
 * suffices.
 */
const IDLE_MS = 500;

export function outboxWorker(service: Service): Worker {
  const { background } = service;
  return {
    name: "outbox",
    idleMs: IDLE_MS,
    drain: (limit, isStopping) => background.drainOutbox(limit, isStopping),
    listen: (wake) => background.followOutbox(wake),
  };
}
