/**
 * Turns for transactions that lost over the same key: one after the other they run again, instead
 * of all at once, of which all but one would lose again. Only a matter of speed: who does not get
 * a turn in time goes without. Used by `sqlite.ts`.
 */

export interface Turns {
  /** Waits for the turn at `key`; what it gives must be called when the attempt is over. */
  take(key: string): Promise<() => void>;
}

/** Longest wait, in case the one before waits for something else or for this very transaction. */
const waitMsMax = 200;

export function openTurns(): Turns {
  /** The end of the last turn that was given out. */
  const last = new Map<string, Promise<void>>();

  async function take(key: string): Promise<() => void> {
    const before = last.get(key);
    const { promise, resolve } = Promise.withResolvers<void>();
    last.set(key, promise);
    if (before !== undefined) await endOrTimeout(before);
    return () => {
      if (last.get(key) === promise) last.delete(key);
      resolve();
    };
  }
  return { take };
}

async function endOrTimeout(end: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, waitMsMax);
  await Promise.race([end, promise]);
  clearTimeout(timer);
}

/** The next turn of the event loop. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
