/**
 * Long work beside requests: in slices of some milliseconds, and where others have work too, it
 * leaves them four fifths of the time. Alone it never waits.
 */

import type { Host } from "../../host.ts";

/** To be awaited after each small piece of the work. */
export type Pace = () => Promise<void>;

const SLICE_MS = 4;
/** Who has done something so lately is at work, also while it waits for its answers. */
const BUSY_MS = 100;
const PAUSE_FACTOR = 4;
/** Also where the process itself was held up. */
const PAUSE_MS_MAX = 100;

/**
 * `done` counts what this process has done for others. How long a turn of the loop takes does not
 * tell: who waits for the store leaves it idle, and would wait for us as well.
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
