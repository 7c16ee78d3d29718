/** A host for tests: clock and replies set by hand, bytes from a seed, and a log that is kept. */

import { createHash } from "node:crypto";
import type { Host, LogLevel } from "../../src/host.ts";

export interface FakeHost extends Host {
  /**
   * Milliseconds since 1970. Setting it moves the clock and runs the timers that are then due.
   */
  timeMs: number;
  /** After how many milliseconds each timer that is set will run, the next one first. */
  readonly timersMs: readonly number[];
  /** Answers `fetch`; until a test sets it, no address can be reached. */
  respond: (request: Request) => Promise<Response>;
  readonly lines: { level: LogLevel; message: string; fields: Record<string, unknown> }[];
}

/** Starts at 2026-01-01T00:00:00Z. The same seed yields the same bytes in the same order. */
export function fakeHost(seed = "daybook"): FakeHost {
  let draws = 0;
  let timeMs = Date.UTC(2026, 0, 1);
  let monotonicMs = timeMs;
  const timers = new Set<{ readonly atMs: number; readonly run: () => void }>();
  const host: FakeHost = {
    get timeMs() {
      return timeMs;
    },
    set timeMs(nowMs) {
      // A clock that is set back takes no time back.
      monotonicMs += Math.max(0, nowMs - timeMs);
      timeMs = nowMs;
      const due = [...timers].filter(({ atMs }) => atMs <= nowMs).sort((a, b) => a.atMs - b.atMs);
      for (const timer of due) {
        timers.delete(timer);
        timer.run();
      }
    },
    get timersMs() {
      return Array.from(timers, ({ atMs }) => atMs - timeMs).sort((a, b) => a - b);
    },
    lines: [],
    respond: () => Promise.reject(new TypeError("nobody can be reached")),
    nowMs: () => host.timeMs,
    monotonicMs: () => monotonicMs,
    measureProcess: () => ({ cpuSeconds: 1.5, residentBytes: 1024, startedSeconds: 1_767_225_600 }),
    fetch: (request) => host.respond(request),
    startTimer(milliseconds, run) {
      const timer = { atMs: timeMs + milliseconds, run };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    yieldTurn: () => new Promise((resolve) => setImmediate(resolve)),
    yieldBriefly: () => new Promise((resolve) => setImmediate(resolve)),
    admission: { enter: () => true, wait: () => Promise.resolve(), waiting: 0, waitingOf: () => 0 },
    randomBytes(length) {
      const bytes = new Uint8Array(length);
      for (let at = 0; at < length; at += 32) {
        const block = createHash("sha256").update(`${seed}:${draws++}`).digest();
        bytes.set(block.subarray(0, Math.min(32, length - at)), at);
      }
      return bytes;
    },
    log(level, message, fields = {}) {
      host.lines.push({ level, message, fields });
    },
  };
  return host;
}
