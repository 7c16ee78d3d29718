/** Counts the calls of an engine that are under way, so that closing can wait for them. */

import { kvLimits } from "./engine.ts";

export interface Calls {
  /** Runs `work` as one call. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Like `run`, for a caller that reports the end of the call itself: saves one promise per
   * call.
   */
  begin(): void;
  end(): void;
  /**
   * Resolves when no call runs, or after the longest time a transaction may last: calls older
   * than that are not waited for.
   */
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
