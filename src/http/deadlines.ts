/**
 * Deadlines of many things at once, all of the same length: what began first is due first, so one
 * timer serves them all. A timer for each request costs more than reading a small body.
 */

const MS_PER_SECOND = 1000;

export interface Deadlines {
  /** Calls `onLate` once the time is over, unless what it gives is called before. */
  start(onLate: () => void): () => void;
}

interface Pending {
  readonly endsMs: number;
  readonly onLate: () => void;
}

/**
 * Each deadline comes `seconds` after its start, or up to a tenth of that later. While nothing is
 * under way the timer stops.
 */
export function openDeadlines(seconds: number): Deadlines {
  /** In the order of their ends. */
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
    if (isTicking) return;
    isTicking = true;
    setTimeout(tick, lengthMs / 10);
  }

  return {
    start(onLate) {
      const one = { endsMs: performance.now() + lengthMs, onLate };
      pending.add(one);
      tickLater();
      return () => void pending.delete(one);
    },
  };
}
