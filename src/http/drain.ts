/**
 * Tracks the requests under way so that a process can stop without cutting any off.
 *
 * After SIGTERM the process waits for requests under way, including those whose bodies are
 * still arriving, because the runtime would cut them off. New requests are refused, so that
 * clients go to another process.
 */

export interface Drain {
  /** True once the process is to end. */
  isStopping(): boolean;
  /** Counts a new request. True: `stop` waits for it until {@link leave}; false after the stop. */
  enter(): boolean;
  /** Reports that a counted request has an answer, or has failed. */
  leave(): void;
  /** Begins the stop; resolves when all requests under way have been answered. */
  stop(): Promise<void>;
}

export function openDrain(): Drain {
  const idle = Promise.withResolvers<void>();
  let underWay = 0;
  let isStopping = false;

  return {
    isStopping: () => isStopping,
    enter() {
      if (isStopping) return false;
      underWay++;
      return true;
    },
    leave() {
      underWay--;
      if (isStopping && underWay === 0) idle.resolve();
    },
    stop() {
      isStopping = true;
      if (underWay === 0) idle.resolve();
      return idle.promise;
    },
  };
}
