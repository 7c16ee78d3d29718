/**
 * Lets transactions that lost over the same key run again one after another. If all ran at once,
 * all but one would lose again. This only matters for speed: a transaction that does not get its
 * turn in time runs without one. Used by both engines.
 *
 * Also spaces what is large, on the engine that many processes share.
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
    if (before !== undefined) await endsWithin(before, waitMsMax);
    return () => {
      if (last.get(key) === promise) last.delete(key);
      resolve();
    };
  }
  return { take };
}

/** Whether `end` is fulfilled within so many milliseconds. If it rejects, they are waited for. */
export async function endsWithin(end: Promise<unknown>, milliseconds: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(resolve, milliseconds, false);
  end.then(() => resolve(true), () => {});
  const isInTime = await promise;
  clearTimeout(timer);
  return isInTime;
}

/** Runs large work one by one, in turns of owners, and with rests in between. */
export interface Spacing {
  /**
   * Runs `work` when it is its owner's turn, and throws what it throws. If that says that the store
   * is away, all that wait are told so, because each would take as long to find it.
   */
  run<T>(from: Origin, work: (hold: Hold) => Promise<T>): Promise<T>;
  /** Refuses all that wait, and whatever comes later. */
  close(reason: unknown): void;
}

/** Runs what work computes. If that takes long, the next work begins meanwhile. */
export type Hold = <V>(compute: () => Promise<V>) => Promise<V>;

const holdMsMax = 500;

export interface Origin {
  /** Work without an owner shares one turn. */
  readonly owner?: number;
  /** Asked at its end: for how many milliseconds nothing may begin after it. */
  restsFor(): number;
}

interface Entering {
  readonly begin: () => void;
  readonly refuse: (reason: unknown) => void;
}

/** @param isAway whether an error says that the store does not answer. */
export function openSpacing(isAway: (error: unknown) => boolean): Spacing {
  /** What waits, by owner; first the one whose turn it is. */
  const line = new Map<number | undefined, Entering[]>();
  let isTaken = false;
  let closed: { readonly reason: unknown } | undefined;

  function beginNext(): void {
    const next = takeFirst(line);
    isTaken = next !== undefined;
    next?.begin();
  }

  function refuseAll(reason: unknown): void {
    for (let one; (one = takeFirst(line)) !== undefined;) one.refuse(reason);
  }

  function enter(owner: number | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const entering = { begin: resolve, refuse: reject };
    const waiting = line.get(owner);
    if (waiting === undefined) line.set(owner, [entering]);
    else waiting.push(entering);
    if (closed !== undefined) refuseAll(closed.reason);
    else if (!isTaken) beginNext();
    return promise;
  }

  return {
    async run({ owner, restsFor }, work) {
      await enter(owner);
      let isHolding = true;
      const pass = () => {
        if (isHolding) beginNext();
        isHolding = false;
      };
      const hold: Hold = async (compute) => {
        const timer = setTimeout(pass, holdMsMax);
        return await compute().finally(() => clearTimeout(timer));
      };
      try {
        return await work(hold);
      } catch (error) {
        if (isAway(error)) refuseAll(error);
        throw error;
      } finally {
        const restMs = restsFor();
        if (restMs === 0) pass();
        else setTimeout(pass, restMs);
      }
    },
    close(reason) {
      closed = { reason };
      refuseAll(reason);
    },
  };
}

function takeFirst(line: Map<number | undefined, Entering[]>): Entering | undefined {
  for (const [owner, waiting] of line) {
    line.delete(owner);
    if (waiting.length > 1) line.set(owner, waiting);
    return waiting.shift();
  }
  return undefined;
}

/** Resolves in the next turn of the event loop. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
