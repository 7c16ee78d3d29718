/**
 * The requests of a process that is to end. Those under way are waited for, bodies that are still
 * coming included, for the runtime would cut these off; new ones are told to go elsewhere. Decided
 * in "Operations": SIGTERM.
 */

export interface Drain {
  /** True once the process is to end. */
  isStopping(): boolean;
  /** `answer`, counted until it has its head. What begins after the stop is not waited for. */
  track(answer: Promise<Response>): Promise<Response>;
  /** Begins the stop; resolves when all that was under way has been answered. */
  stop(): Promise<void>;
}

export function openDrain(): Drain {
  const idle = Promise.withResolvers<void>();
  let underWay = 0;
  let isStopping = false;

  function end(): void {
    underWay--;
    if (isStopping && underWay === 0) idle.resolve();
  }

  return {
    isStopping: () => isStopping,
    track(answer) {
      if (isStopping) return answer;
      underWay++;
      answer.then(end, end);
      return answer;
    },
    stop() {
      isStopping = true;
      if (underWay === 0) idle.resolve();
      return idle.promise;
    },
  };
}
