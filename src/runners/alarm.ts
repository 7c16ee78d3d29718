/**
 * A timer for what is set with every call and hardly ever rings. To set and clear one of the
 * platform takes 25 us, as long as half a call; this one lets it run, and looks when it ends
 * whether it was for nothing.
 */

export interface Alarm {
  /** Rings once at `dueMs` of `performance.now()` or soon after; replaces what was set before. */
  set(dueMs: number): void;
  /** Does not ring. The timer itself may run on for a while. */
  unset(): void;
  /** As `unset`, and nothing is left that runs. */
  close(): void;
}

export function newAlarm(ring: () => void): Alarm {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let dueMs: number | undefined;
  let endsMs = Infinity;

  function start(atMs: number): void {
    clearTimeout(timer);
    endsMs = atMs;
    timer = setTimeout(onEnd, Math.max(1, Math.ceil(atMs - performance.now())));
  }

  function onEnd(): void {
    timer = undefined;
    endsMs = Infinity;
    if (dueMs === undefined) return;
    if (performance.now() < dueMs) return start(dueMs);
    dueMs = undefined;
    ring();
  }

  return {
    set(atMs) {
      dueMs = atMs;
      if (atMs < endsMs) start(atMs);
    },
    unset() {
      dueMs = undefined;
    },
    close() {
      dueMs = undefined;
      clearTimeout(timer);
      timer = undefined;
      endsMs = Infinity;
    },
  };
}
