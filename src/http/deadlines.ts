/**
 * Deadlines for many operations, all of the same length.
 *
 * The first to begin is the first to expire, so one timer serves them all. A timer for each
 * request would cost more than reading a small body.
 */

const MS_PER_SECOND = 1000;

export interface Deadlines {
  /** Calls `onLate` once the time is over, unless the returned function is called before. */
  start(onLate: () => void): () => void;
}

interface Pending {
  readonly endsMs: number;
  readonly onLate: () => void;
}

/**
 * Each deadline fires `seconds` after its start, or up to a tenth of that later. The timer
 * stops while no deadline is pending.
 */
export function openDeadlines(seconds: number): Deadlines {
  /** Sorted by end time. */
  const pending = new Set<Pending>();
  const lengthMs = seconds * MS_PER_SECOND;
  let isTicking = false;

  function tick(): void {
    isTicking = false;
    const nowMs = performance.now();
    for (const one of pending) {
      if (one.endsMs > nowMs) break;
      pending.delete(one);
      one.onLate();
    }
    if (pending.size > 0) tickLater();
  }

  function tickLater(): void {
    isTicking = true;
    setTimeout(tick, lengthMs / 10);
  }

  return {
    start(onLate) {
      const one = { endsMs: performance.now() + lengthMs, onLate };
      pending.add(one);
      if (!isTicking) tickLater();
      return () => void pending.delete(one);
    },
  };
}
