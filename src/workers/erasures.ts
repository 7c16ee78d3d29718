/** Erases streams when their time has come. Decisions, section 18. */

import type { Service } from "../service.ts";
import type { Worker } from "./worker.ts";

const IDLE_MS = 500;

export function erasureWorker(service: Service): Worker {
  return {
    name: "erasures",
    idleMs: IDLE_MS,
    drain: (limit, isStopping) => service.erasure.eraseDue(limit, isStopping),
  };
}
