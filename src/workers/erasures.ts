/** Erases streams whose grace period is over. See docs/reference/erasure.md. */

import type { Service } from "../features/service.ts";
import type { Worker } from "./worker.ts";

const IDLE_MS = 500;

export function erasureWorker(service: Service): Worker {
  return {
    name: "erasures",
    idleMs: IDLE_MS,
    drain: (limit, isStopping) => service.erasure.eraseDue(limit, isStopping),
  };
}
