/**
 * The requests of a process that is to end. Those under way are waited for, bodies that are still
 * coming included, for the runtime would cut these off; new ones are told to go elsewhere. Decided
 * in "Operations": SIGTERM.
 */

export interface Drain {
  /** True once the process is to end. */
  isStopping(): boolean;
  /** A request has come. True: it is waited for until {@link leave}; false after the stop. */
  enter(): boolean;
  /** A request that was waited for has its answer's head, or has failed. */
  leave(): void;
  /** Begins the stop; resolves when all that was under way has been answered. */
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
