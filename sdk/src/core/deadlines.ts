/** Many deadlines on one timer, because a timer for each request is a good part of its cost. */

import type { World } from "./world.ts";

interface Deadline {
  readonly dueMs: number;
  readonly run: () => void;
}

/** Gives a function with the meaning of `world.after`. Nothing is left behind once all are over. */
export function createDeadlines(world: World): World["after"] {
  const waiting = new Set<Deadline>();
  let stopTimer: (() => void) | undefined;
  let timerMs = Infinity;

  function arm(dueMs: number): void {
    stopTimer?.();
    timerMs = dueMs;
    stopTimer = world.after(Math.max(0, dueMs - world.now()), ring);
  }

  function ring(): void {
    stopTimer = undefined;
    timerMs = Infinity;
    const nowMs = world.now();
    let nextMs = Infinity;
    for (const deadline of waiting) {
      if (deadline.dueMs > nowMs) {
        nextMs = Math.min(nextMs, deadline.dueMs);
        continue;
      }
      waiting.delete(deadline);
      deadline.run();
    }
    // A deadline that was set by one of those that ran has armed the timer itself.
    if (nextMs < timerMs) arm(nextMs);
  }

  return (ms, run) => {
    const deadline = { dueMs: world.now() + ms, run };
    waiting.add(deadline);
    if (deadline.dueMs < timerMs) arm(deadline.dueMs);
    return () => {
      waiting.delete(deadline);
      if (waiting.size > 0 || stopTimer === undefined) return;
      stopTimer();
      stopTimer = undefined;
      timerMs = Infinity;
    };
  };
}
