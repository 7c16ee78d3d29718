/**
 * Does what written events have set off and what the process that wrote them did not do: it died,
 * it had too much, the store was away. Woken where a write leaves its work on purpose.
 */

import type { Service } from "../service.ts";
import type { Worker } from "./worker.ts";

/** What a process leaves when it dies waits for a second before others take it. */
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
