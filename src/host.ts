/** The world outside as an argument: clock, randomness, network, log. Only here are they real. */

import process from "node:process";
import { setImmediate } from "node:timers";
import { type Admission, openAdmission, type TurnClock } from "./domain/fairness/admission.ts";
import type { Tracer } from "./domain/measures/tracer.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";

/** What the operating system reports about this process. */
export interface ProcessMeasure {
  /** CPU time on all cores since the process started. */
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  /** Seconds since 1970. */
  readonly startedSeconds: number;
}

export interface Host {
  /** Milliseconds since 1970, UTC. */
  nowMs(): number;
  /** A monotonic clock in milliseconds, with fractions; for measuring durations. */
  monotonicMs(): number;
  /** Cheap: takes some microseconds. */
  measureProcess(): ProcessMeasure;
  /** Cryptographically random bytes. */
  randomBytes(length: number): Uint8Array<ArrayBuffer>;
  /** Sends an outgoing request. */
  fetch(request: Request): Promise<Response>;
  /** Calls `run` after `milliseconds`, unless the returned function is called before. */
  startTimer(milliseconds: number, run: () => void): () => void;
  /**
   * Ends the current turn of the event loop so that a long computation lets others in: work
   * that is ready to run, and input that has arrived over the network meanwhile.
   */
  yieldTurn(): Promise<void>;
  /** Lets ready work run; for work that takes only microseconds. */
  yieldBriefly(): Promise<void>;
  /** Which incoming requests may begin in this turn of the event loop. */
  readonly admission: Admission;
  /** The current span as a `traceparent`; absent without tracing. */
  traceparent?(): string | undefined;
  /**
   * Writes one structured line. Fields never hold secrets: no keys, tokens, passwords or
   * bodies.
   */
  log(level: LogLevel, message: string, fields?: Record<string, unknown>): void;
}

/**
 * Characters that JSON does not escape but a terminal or a line reader acts on: delete and the
 * C1 control characters, line and paragraph separators, bidirectional marks.
 */
const OBEYED = /[\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g;

/** The same JSON with these characters escaped, as JSON does with all other control characters. */
function oneLine(json: string): string {
  return json.replace(OBEYED, (text) => `\\u${text.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

const MICROSECONDS_PER_SECOND = 1_000_000;
const MS_PER_SECOND = 1000;

function openTurns(): LoopTurns & Pick<Host, "admission"> {
  const loop: Loop = {
    nowMs: performance.now.bind(performance),
    next: () => new Promise((resolve) => setImmediate(resolve)),
    soon: (run) => void setTimeout(run, 1),
  };
  return { ...openLoopTurns(loop), admission: openAdmission(loop) };
}

/** The host of a running server: system clock, system randomness, JSON lines on standard error. */
export function systemHost(tracer?: Tracer): Host {
  return {
    ...(tracer && { traceparent: tracer.traceparent }),
    nowMs: Date.now,
    monotonicMs: performance.now.bind(performance),
    measureProcess() {
      const { user, system } = process.cpuUsage();
      return {
        cpuSeconds: (user + system) / MICROSECONDS_PER_SECOND,
        residentBytes: Deno.memoryUsage().rss,
        startedSeconds: performance.timeOrigin / MS_PER_SECOND,
      };
    },
    randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
    fetch: (request) => fetch(request),
    startTimer(milliseconds, run) {
      const timer = setTimeout(run, milliseconds);
      return () => clearTimeout(timer);
    },
    ...openTurns(),
    log(level, message, fields = {}) {
      const head = { time: new Date().toISOString(), level, message };
      // `head` comes last so that a field's name cannot replace time, level or message.
      console.error(oneLine(JSON.stringify({ ...head, ...fields, ...head })));
    },
  };
}

/**
 * Ways to yield the event loop.
 *
 * The runtime looks at the network, and at what other threads have finished, once in so many steps
 * of its own. `deno task start` makes it do so in every turn, however busy the loop is. See
 * docs/decisions/0034-the-network-is-polled-in-every-turn.md.
 */
export interface LoopTurns {
  /**
   * For long work: resolves in a turn in which the loop is idle, so after other work is done. On a
   * loop that is always busy, it resolves after a few tries.
   */
  yieldTurn(): Promise<void>;
  /** Resolves in the next turn. */
  yieldBriefly(): Promise<void>;
}

/** The runtime's primitives. */
export interface Loop extends TurnClock {
  /** Calls `run` after at least one millisecond. */
  soon(run: () => void): void;
}

/** If a timer fires this soon after it was set, the loop had nothing else to do: it was idle. */
const AT_REST_MS = 2.5;
/** Other work may keep the loop busy forever, so a waiter continues after this many tries. */
const TRIES_MAX = 4;

export function openLoopTurns(loop: Loop): LoopTurns {
  let waiting: (() => void)[] = [];

  function rest(tries: number): void {
    const setMs = loop.nowMs();
    loop.soon(() => {
      if (tries < TRIES_MAX && loop.nowMs() - setMs > AT_REST_MS) return rest(tries + 1);
      const all = waiting;
      waiting = [];
      for (const goOn of all) goOn();
    });
  }

  return {
    /** All waiting callers share one timer. */
    yieldTurn: () =>
      new Promise((resolve) => {
        waiting.push(resolve);
        if (waiting.length === 1) rest(1);
      }),
    yieldBriefly: loop.next,
  };
}
