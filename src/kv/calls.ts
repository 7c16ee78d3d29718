/** Counts the calls of an engine that are under way, so that closing can wait for them. */

import { kvLimits } from "./engine.ts";

export interface Calls {
  /** Does `work` as one call. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** The same for who says itself when the call ends: one promise less for each. */
  begin(): void;
  end(): void;
  /** Until nothing runs; what is older than a transaction may be is not waited for. */
  untilIdle(): Promise<void>;
}

/** @param refuse throws when no further call may begin. */
export function openCalls(refuse: () => void): Calls {
  let running = 0;
  let onIdle: (() => void) | undefined;

  function begin(): void {
    refuse();
    running++;
  }

  function end(): void {
    running--;
    if (running === 0) onIdle?.();
  }

  return {
    begin,
    end,
    async run(work) {
      begin();
      try {
        return await work();
      } finally {
        end();
      }
    },
    async untilIdle() {
      if (running === 0) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, kvLimits.transactionSecondsMax * 1000);
        onIdle = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    },
  };
}
