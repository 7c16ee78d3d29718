/** Checks the clock at intervals for something that held the thread, and logs what it finds. */

import { look, LOOK_MS, type ThreadWatch } from "../domain/fairness/thread_watch.ts";
import type { Host } from "../host.ts";

/** Starts the checks. The returned function ends them. */
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
