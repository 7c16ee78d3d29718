/**
 * Turns of the event loop in which the network is looked at.
 *
 * While something is ready to run in every turn, the runtime looks at its sockets once in 61 turns
 * only: where turns take milliseconds, a request waits for a third of a second, and it needs
 * several such looks. The runtime looks when nothing is ready, be it for some microseconds.
 */

export interface LoopTurns {
  /** For long work: a turn that comes when the loop is at rest, so when others are done. */
  yieldTurn(): Promise<void>;
  /** The next turn; behind a look at the network where the last one was some milliseconds ago. */
  yieldBriefly(): Promise<void>;
  /** Something has come over the network: it has just been looked at. */
  sawNetwork(): void;
}

/** The runtime's own means, and a clock that only goes forward, in milliseconds. */
export interface Loop {
  nowMs(): number;
  /** Resolves in the next turn. */
  next(): Promise<void>;
  /** Resolves when another thread has done something: nothing is ready until then. */
  elsewhere(): Promise<unknown>;
  /** Calls `run` in a millisecond at the earliest. */
  soon(run: () => void): void;
}

/** Turns may go on for so long without a look. */
const LOOK_MS_MAX = 8;
/** The first one finds what has come; what it has woken is done in the second one. */
const LOOKS = 2;
/** A timer that rings so soon after it was set found nothing else to do: the loop was at rest. */
const AT_REST_MS = 2.5;
/** Others may keep the loop busy all the time: who waits goes on after so many tries. */
const TRIES_MAX = 4;

export function openLoopTurns(loop: Loop): LoopTurns {
  let lookedMs = loop.nowMs();
  let looking: Promise<void> | undefined;
  let waiting: (() => void)[] = [];

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
    /** All who yield wait for the same timer. */
    yieldTurn: () =>
      new Promise((resolve) => {
        waiting.push(resolve);
        if (waiting.length === 1) rest(1);
      }),
    yieldBriefly() {
      // Who went on during a look would leave something ready.
      const isDue = looking !== undefined || loop.nowMs() - lookedMs > LOOK_MS_MAX;
      return isDue ? looking ??= lookNow() : loop.next();
    },
    sawNetwork() {
      lookedMs = loop.nowMs();
    },
  };
}
