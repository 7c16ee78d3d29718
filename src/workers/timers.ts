/** Does what is due at a time: fires scheduled events, ends the waits of sagas. */

import type { Service } from "../service.ts";
import type { Worker } from "./worker.ts";

export function timerWorker(service: Service): Worker {
  const { background } = service;
  return {
    name: "timers",
    /** Until the next timer that was seen, and half a second at most. */
    get idleMs() {
      return background.timerPauseMs();
    },
    drain: (limit, isStopping) => background.drainTimers(limit, isStopping),
  };
}
