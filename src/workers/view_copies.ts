/**
 * Keeps this process's SQL copies of projections close to the store. So they are nearly current
 * when a query arrives, and data that is erased in the store does not stay in them. It runs
 * wherever requests are answered.
 */

import type { Service } from "../features/service.ts";
import type { Worker } from "./worker.ts";

const IDLE_MS = 30_000;

export function viewCopyWorker(service: Service): Worker {
  return {
    name: "view copies",
    idleMs: IDLE_MS,
    async drain() {
      await service.sql.sweepCopies();
      return 0;
    },
  };
}
