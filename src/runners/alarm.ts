/**
 * A timer for deadlines that are set with every call and hardly ever reached. Setting and
 * clearing a platform timer costs as much as half a call. This one lets the platform timer run
 * on, and checks when it fires whether the deadline still stands.
 */

export interface Alarm {
  /** Rings once at `dueMs` of `performance.now()` or soon after; replaces the time set before. */
  set(dueMs: number): void;
  /** Cancels the alarm. The timer beneath it may run on for a while. */
  unset(): void;
  /** Cancels the alarm and the timer beneath it. */
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
