/** Processes the timers that are due: scheduled events, sagas, delivery retries and erasures. */

import type { Service } from "../features/service.ts";
import type { Worker } from "./worker.ts";

export function timerWorker(service: Service): Worker {
  const { background } = service;
  return {
    name: "timers",
    /** Until the next known timer, and half a second at most. */
    get idleMs() {
      return background.timerPauseMs();
    },
    drain: (limit, isStopping) => background.drainTimers(limit, isStopping),
  };
}
