/**
 * Follows views with this process's copies for SQL, so that they are near when a query comes, and
 * what is erased in the store does not stay in them. Runs where requests are answered.
 */

import type { Service } from "../service.ts";
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
