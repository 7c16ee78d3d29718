/** Removes what is older than its day. */

import type { Service } from "../service.ts";
import type { Worker } from "./worker.ts";

const IDLE_MS = 60_000;

export function sweeper(service: Service): Worker {
  return { name: "sweeper", idleMs: IDLE_MS, drain: (limit) => service.background.sweep(limit) };
}
