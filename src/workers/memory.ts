/**
 * Saves what only this process's memory has. These are states that reads have folded, and error
 * records that the store did not take. It runs wherever requests are answered, even if other
 * processes do the rest of the background work.
 */

import type { Service } from "../features/service.ts";
import type { Worker } from "./worker.ts";

const IDLE_MS = 500;

export function memoryWorker(service: Service): Worker {
  return {
    name: "memory",
    idleMs: IDLE_MS,
    drain: (limit, isStopping) => service.background.saveMemory(limit, isStopping),
  };
}
