/**
 * Long work beside requests: in slices of some milliseconds, and where others have work too, it
 * leaves them four fifths of the time. Alone it never waits.
 */

import type { Host } from "../../host.ts";

/** To be awaited after each small piece of the work. */
export type Pace = () => Promise<void>;

const SLICE_MS = 4;
/** A turn of the event loop that takes so long has done something for others. */
const BUSY_TURN_MS = 1;
const PAUSE_FACTOR = 4;
/** Also where the clock was set forward meanwhile. */
const PAUSE_MS_MAX = 100;

export function createPace(host: Pick<Host, "nowMs" | "yieldTurn" | "startTimer">): Pace {
  let sinceMs = host.nowMs();
  return async () => {
    const worked = host.nowMs() - sinceMs;
    if (worked >= 0 && worked < SLICE_MS) return;
    const yieldedMs = host.nowMs();
    await host.yieldTurn();
    if (host.nowMs() - yieldedMs >= BUSY_TURN_MS) {
      const pause = Math.min(Math.max(worked, 0) * PAUSE_FACTOR, PAUSE_MS_MAX);
      await new Promise<void>((resolve) => void host.startTimer(pause, resolve));
    }
    sinceMs = host.nowMs();
  };
}
