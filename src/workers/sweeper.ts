/**
 * Removes what is older than its day, a little at a time: about 2,000 ledger entries a second are
 * looked at, and more where many have ended.
 */

import type { Service } from "../service.ts";
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
