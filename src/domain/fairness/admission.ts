/** Lets requests begin a few at a time, so that a turn of the event loop has what fits into it. */

import { openFairLine } from "./fair_line.ts";
import { readySteps } from "./pieces.ts";

/** The runtime's turns, and a monotonic clock in milliseconds. */
export interface TurnClock {
  nowMs(): number;
  /** Resolves in the next turn. */
  next(): Promise<void>;
}

/**
 * Admits requests a few at a time, because nobody knows yet what they cost. The next ones are
 * admitted when these have run as far as they go without waiting. So a turn of the event loop has
 * about as many as fit into it, however many arrive at once.
 */
export interface Admission {
  /** Whether a request may begin now. If not, it waits. */
  enter(): boolean;
  /** Resolves when the request may begin. Owners take turns. */
  wait(owner: string): Promise<void>;
  /** How many requests wait. */
  readonly waiting: number;
  /** How many of an owner wait. */
  waitingOf(owner: string): number;
}

/** Requests are admitted for this long in one turn. */
const TURN_MS_MAX = 4;
const AT_ONCE_MAX = 8;
/** After some that took longer than this, one is admitted, then two and more if they are quick. */
const QUICK_MS_MAX = 2;
export function openAdmission(clock: TurnClock): Admission {
  const line = openFairLine<string>();
  let waiting = 0;
  let isMoving = false;
  /** When the turn ends that is under way, if one is. */
  let endMs: number | undefined;
  let turn = Promise.resolve();
  let atOnce = AT_ONCE_MAX;
  /** How many more may begin before anybody looks at the clock. */
  let left = 0;

  function enter(): boolean {
    if (endMs === undefined) {
      endMs = clock.nowMs() + TURN_MS_MAX;
      left = atOnce;
      turn = clock.next().then(() => void (endMs = undefined));
    }
    // Whoever waits has used up what was left.
    if (left === 0 || clock.nowMs() >= endMs) return false;
    left--;
    return true;
  }

  async function move(): Promise<void> {
    isMoving = true;
    let sinceMs = clock.nowMs();
    while (waiting > 0) {
      await readySteps();
      const isQuick = clock.nowMs() - sinceMs < QUICK_MS_MAX;
      atOnce = isQuick ? Math.min(2 * atOnce, AT_ONCE_MAX) : 1;
      if (endMs !== undefined && clock.nowMs() >= endMs) await turn;
      sinceMs = clock.nowMs();
      left = atOnce;
      while (waiting > 0 && enter()) {
        waiting--;
        line.take(() => true)!();
      }
    }
    isMoving = false;
  }

  return {
    enter,
    wait(owner) {
      return new Promise((resolve) => {
        waiting++;
        line.push(owner, resolve);
        if (!isMoving) void move();
      });
    },
    get waiting() {
      return waiting;
    },
    waitingOf: line.count,
  };
}
