/**
 * Ways to yield the event loop so that the network is polled in time.
 *
 * While something is ready to run in every turn, the runtime polls its sockets only once in 61
 * turns. If turns take milliseconds, a request waits for a third of a second, and it needs
 * several polls. The runtime also polls whenever nothing is ready, even for a few microseconds,
 * so these yields create such moments.
 */

export interface LoopTurns {
  /**
   * For long work: resolves in a turn in which the loop is idle, so after other work is done. On a
   * loop that is always busy, it resolves after a few tries.
   */
  yieldTurn(): Promise<void>;
  /**
   * Resolves in the next turn, or after a network poll if the last one is some milliseconds
   * old.
   */
  yieldBriefly(): Promise<void>;
  /**
   * Called for each request before it is answered. A client that sends many requests ahead keeps
   * the loop busy from what was read before, so nobody else's input is polled. Then this gives a
   * promise to wait for, of a network poll; undefined while polls are frequent.
   */
  admit(): Promise<void> | undefined;
}

/** The runtime's primitives, and a monotonic clock in milliseconds. */
export interface Loop {
  nowMs(): number;
  /** Resolves in the next turn. */
  next(): Promise<void>;
  /** Resolves when another thread has finished some work; nothing is ready to run until then. */
  elsewhere(): Promise<unknown>;
  /** Calls `run` after at least one millisecond. */
  soon(run: () => void): void;
}

/** The longest time without a network poll. */
const LOOK_MS_MAX = 8;
/** The first poll finds what has arrived; the second runs what it woke. */
const LOOKS = 2;
/** If a timer fires this soon after it was set, the loop had nothing else to do: it was idle. */
const AT_REST_MS = 2.5;
/** Other work may keep the loop busy forever, so a waiter continues after this many tries. */
const TRIES_MAX = 4;

export function openLoopTurns(loop: Loop): LoopTurns {
  let lookedMs = loop.nowMs();
  let looking: Promise<void> | undefined;
  let waiting: (() => void)[] = [];
  let isTimed = false;

  async function lookNow(): Promise<void> {
    for (let looks = 0; looks < LOOKS; looks++) await loop.elsewhere();
    lookedMs = loop.nowMs();
    looking = undefined;
  }

  function rest(tries: number): void {
    const setMs = loop.nowMs();
    loop.soon(() => {
      if (tries < TRIES_MAX && loop.nowMs() - setMs > AT_REST_MS) return rest(tries + 1);
      const all = waiting;
      waiting = [];
      for (const goOn of all) goOn();
    });
  }

  return {
    /** All waiting callers share one timer. */
    yieldTurn: () =>
      new Promise((resolve) => {
        waiting.push(resolve);
        if (waiting.length === 1) rest(1);
      }),
    yieldBriefly() {
      // A caller that continued during a poll would leave something ready and so prevent it.
      const isDue = looking !== undefined || loop.nowMs() - lookedMs > LOOK_MS_MAX;
      return isDue ? looking ??= lookNow() : loop.next();
    },
    admit() {
      const now = loop.nowMs();
      if (isTimed) return now - lookedMs > LOOK_MS_MAX ? looking ??= lookNow() : undefined;
      // The first request after a while was just polled. The runtime polls timers together with
      // the network, so this one fires in time only if the network is polled, too.
      isTimed = true;
      lookedMs = now;
      loop.soon(() => {
        isTimed = false;
        lookedMs = loop.nowMs();
      });
      return undefined;
    },
  };
}
