/**
 * Lets transactions that lost over the same key run again one after another. If all ran at once,
 * all but one would lose again. This only matters for speed: a transaction that does not get its
 * turn in time runs without one. Used by both engines.
 *
 * And spaces what is large, on the engine that many processes share.
 */

import { EngineUnavailable } from "../engine.ts";

export interface Turns {
  /** Waits for the turn at `key`. Call the returned function when the attempt is over. */
  take(key: string): Promise<() => void>;
}

/** A transaction that keeps losing for this long gives up. */
export const conflictsMaxMs = 10_000;
/** How often a body that takes longer than a transaction may last is run. */
export const expirationsMax = 3;

export function lostTooOften(conflicts: number): EngineUnavailable {
  return new EngineUnavailable(
    `The transaction lost against others ${conflicts} times in ${conflictsMaxMs / 1000} seconds`,
  );
}

/** Longest wait, in case the one before waits for something else or for this very transaction. */
const waitMsMax = 200;

export function openTurns(): Turns {
  /** The end of the last turn given out, by key. */
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

/** Spaces work by its bytes, in the order in which it comes. */
export interface Pace {
  /** Undefined if the work may begin at once. */
  enter(bytes: number): Promise<void> | undefined;
}

/** @param nowMs a monotonic clock, in milliseconds. */
export function openPace(bytesPerSecond: number, nowMs: () => number): Pace {
  let freeMs = -Infinity;
  return {
    enter(bytes) {
      const now = nowMs();
      const beginMs = Math.max(now, freeMs);
      freeMs = beginMs + 1000 * bytes / bytesPerSecond;
      if (beginMs === now) return undefined;
      return new Promise((resolve) => void setTimeout(resolve, beginMs - now));
    },
  };
}

/** Resolves in the next turn of the event loop. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
