/**
 * Paces long work beside requests, in slices of some milliseconds. While other work is under
 * way, it leaves that four fifths of the time. Alone it never waits.
 */

import type { Host } from "../../host.ts";

/** Must be awaited after each small part of the work. */
export type Pace = () => Promise<void>;

const SLICE_MS = 4;
/** Activity this recent counts as work under way, even while it waits for an answer. */
const BUSY_MS = 100;
const PAUSE_FACTOR = 4;
/** Applies even if the process itself was held up. */
const PAUSE_MS_MAX = 100;

/**
 * `done` counts what this process has done for others. The duration of a turn of the event loop
 * is no measure: work that waits for the store leaves the loop idle, but would have to wait for
 * us too.
 */
export function createPace(
  host: Pick<Host, "monotonicMs" | "yieldTurn" | "startTimer">,
  done: () => number,
): Pace {
  let sinceMs = host.monotonicMs();
  let seen = done();
  let busyMs = -Infinity;
  return async () => {
    const worked = host.monotonicMs() - sinceMs;
    if (worked < SLICE_MS) return;
    await host.yieldTurn();
    const nowMs = host.monotonicMs();
    const count = done();
    if (count !== seen) busyMs = nowMs;
    seen = count;
    if (nowMs - busyMs < BUSY_MS) {
      const pause = Math.min(worked * PAUSE_FACTOR, PAUSE_MS_MAX);
      await new Promise<void>((resolve) => void host.startTimer(pause, resolve));
    }
    sinceMs = host.monotonicMs();
  };
}
