/**
 * Removes what has outlived its retention, a little at a time. It looks at about 2,000 ledger
 * entries a second, and at more if many of them have expired.
 */

import type { Service } from "../features/service.ts";
import type { Worker } from "./worker.ts";

const IDLE_MS = 250;
const ENTRIES_AT_A_TIME = 500;

export function sweeper(service: Service): Worker {
  return {
    name: "sweeper",
    idleMs: IDLE_MS,
    drain: () => service.background.sweep(ENTRIES_AT_A_TIME),
  };
}
