/**
 * Saves what only this process's memory has: states that reads have folded, and error records that
 * the store did not take. Runs where requests are answered, whoever does the other work.
 */

import type { Service } from "../service.ts";
import type { Worker } from "./worker.ts";

const IDLE_MS = 500;

export function memoryWorker(service: Service): Worker {
  return {
    name: "memory",
    idleMs: IDLE_MS,
    drain: (limit, isStopping) => service.background.saveMemory(limit, isStopping),
  };
}
