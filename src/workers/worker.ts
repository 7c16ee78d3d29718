/**
 * Defines background workers and the one loop that runs them: drain what is due, wait, repeat.
 * A worker is essentially its `drain(limit)`; tests call it directly and need no timer.
 */

import { count, type Tally } from "../domain/measures/counters.ts";
import {
  beginWork,
  endWork,
  look,
  LOOK_MS,
  type ThreadWatch,
  type Work,
} from "../domain/fairness/thread_watch.ts";
import type { Host } from "../host.ts";

export interface Worker {
  readonly name: string;
  /** How many milliseconds the loop waits after it found nothing to do. */
  readonly idleMs: number;
  /**
   * How many milliseconds the loop lets work gather after it has done everything: fewer, larger
   * drains.
   */
  readonly gatherMs?: number;
  /**
   * Does up to `limit` of what is due now and returns how much it did. A long drain ends early
   * once `isStopping` returns true: the process has ten seconds to end.
   */
  drain(limit: number, isStopping?: () => boolean): Promise<number>;
  /** Calls `wake` when there may be something to do earlier. The returned function ends that. */
  listen?(wake: () => void): () => Promise<void>;
}

export interface RunningWorker {
  /** Resolves when the drain under way has ended; no further one begins. */
  stop(): Promise<void>;
}

/** Items that a drain takes on at a time. */
const DRAIN_LIMIT = 100;
/**
 * The pause after a drain that threw: doubled each time up to the second value, until the store
 * is back.
 */
const BACKOFF_FIRST_MS = 250;
const BACKOFF_LAST_MS = 4_000;

/**
 * Starts the loop. A drain that throws is logged, counted under the worker's name and tried
 * again later; the loop never ends. `watch` is notified of each drain.
 */
export function runWorker(
  worker: Worker,
  host: Host,
  failures: Tally = new Map(),
  watch?: ThreadWatch,
): RunningWorker {
  let stopped = false;
  let isNudged = false;
  let wake = () => {};

  async function run(): Promise<void> {
    let backoffMs = BACKOFF_FIRST_MS;
    while (!stopped) {
      try {
        isNudged = false;
        const done = await drain();
        backoffMs = BACKOFF_FIRST_MS;
        if (done === 0) await pause(worker.idleMs);
        else if (done < DRAIN_LIMIT && worker.gatherMs !== undefined) await rest(worker.gatherMs);
        else await host.yieldTurn();
      } catch (error) {
        count(failures, worker.name);
        const reason = error instanceof Error ? error.message : String(error);
        host.log("error", `The ${worker.name} worker failed and goes on later`, { reason });
        await pause(backoffMs);
        backoffMs = Math.min(2 * backoffMs, BACKOFF_LAST_MS);
      }
    }
  }

  async function drain(): Promise<number> {
    if (watch === undefined) return await worker.drain(DRAIN_LIMIT, () => stopped);
    const work: Work = { at: 0, sinceMs: host.monotonicMs(), worker: worker.name };
    beginWork(watch, work);
    try {
      return await worker.drain(DRAIN_LIMIT, () => stopped);
    } finally {
      endWork(watch, work, host.monotonicMs());
    }
  }

  function pause(ms: number): Promise<void> {
    if (stopped || isNudged) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** A pause that `wake` does not end. */
  function rest(ms: number): Promise<void> {
    return stopped ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, ms));
  }

  const running = run();
  const endListening = worker.listen?.(() => {
    isNudged = true;
    wake();
  });

  async function stop(): Promise<void> {
    stopped = true;
    wake();
    await Promise.all([running, endListening?.()]);
  }

  return { stop };
}

/**
 * Checks the clock at intervals for something that held the thread, and logs what it finds. The
 * returned function ends the checks.
 */
export function watchThread(watch: ThreadWatch, host: Host): () => void {
  function lookAgain(): void {
    const hold = look(watch, host.monotonicMs());
    if (hold !== undefined) {
      const { heldMs, underWay, suspects: [suspect, ...others] } = hold;
      const held_ms = Math.round(heldMs);
      const about = { held_ms, ...suspect, under_way: underWay, others };
      host.log("warn", "Something held the thread", about);
    }
    end = host.startTimer(LOOK_MS, lookAgain);
  }

  watch.lookedMs = host.monotonicMs();
  let end = host.startTimer(LOOK_MS, lookAgain);
  return () => end();
}
