/** The world outside as an argument: clock, randomness, network, log. Only here are they real. */

import process from "node:process";
import { setImmediate } from "node:timers";
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
  /**
   * Lets ready work run; for work that takes only microseconds. After some milliseconds of such
   * yields, the network is polled too.
   */
  yieldBriefly(): Promise<void>;
  /** To be called for each incoming request. */
  admit(): Promise<void> | undefined;
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

const NOTHING = new Uint8Array();

function openTurns(): LoopTurns {
  return openLoopTurns({
    nowMs: performance.now.bind(performance),
    next: () => new Promise((resolve) => setImmediate(resolve)),
    elsewhere: () => crypto.subtle.digest("SHA-256", NOTHING),
    soon: (run) => void setTimeout(run, 1),
  });
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
 * Ways to yield the event loop so that the network is polled in time.
 *
 * While something is ready to run in every turn, the runtime polls its sockets only once in 61
 * turns. If turns take milliseconds, a request waits for a third of a second, and it needs
 * several polls. The runtime also polls whenever nothing is ready, even for a few microseconds,
 * so these yields create such moments.
 */
export interface LoopTurns {
  /**
   * For long work: resolves in a turn in which the loop is idle, so after other work is done. On a
   * loop that is always busy, it resolves after a few tries.
   */
  yieldTurn(): Promise<void>;
  /**
   * Resolves in the next turn, or after a network poll if the last one is some milliseconds
   * old.
   */
  yieldBriefly(): Promise<void>;
  /**
   * Called for each request before it is answered. A client that sends many requests ahead keeps
   * the loop busy from what was read before, so nobody else's input is polled. Then this gives a
   * promise to wait for, of a network poll; undefined while polls are frequent.
   */
  admit(): Promise<void> | undefined;
}

/** The runtime's primitives, and a monotonic clock in milliseconds. */
export interface Loop {
  nowMs(): number;
  /** Resolves in the next turn. */
  next(): Promise<void>;
  /** Resolves when another thread has finished some work; nothing is ready to run until then. */
  elsewhere(): Promise<unknown>;
  /** Calls `run` after at least one millisecond. */
  soon(run: () => void): void;
}

/** The longest time without a network poll. */
const LOOK_MS_MAX = 8;
/** The first poll finds what has arrived; the second runs what it woke. */
const LOOKS = 2;
/** If a timer fires this soon after it was set, the loop had nothing else to do: it was idle. */
const AT_REST_MS = 2.5;
/** Other work may keep the loop busy forever, so a waiter continues after this many tries. */
const TRIES_MAX = 4;

export function openLoopTurns(loop: Loop): LoopTurns {
  let lookedMs = loop.nowMs();
  let looking: Promise<void> | undefined;
  let waiting: (() => void)[] = [];
  let isTimed = false;

  async function lookNow(): Promise<void> {
    for (let looks = 0; looks < LOOKS; looks++) await loop.elsewhere();
    lookedMs = loop.nowMs();
    looking = undefined;
  }

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
    yieldBriefly() {
      // A caller that continued during a poll would leave something ready and so prevent it.
      const isDue = looking !== undefined || loop.nowMs() - lookedMs > LOOK_MS_MAX;
      return isDue ? looking ??= lookNow() : loop.next();
    },
    admit() {
      const now = loop.nowMs();
      if (isTimed) return now - lookedMs > LOOK_MS_MAX ? looking ??= lookNow() : undefined;
      // The first request after a while was just polled. The runtime polls timers together with
      // the network, so this one fires in time only if the network is polled, too.
      isTimed = true;
      lookedMs = now;
      loop.soon(() => {
        isTimed = false;
        lookedMs = loop.nowMs();
      });
      return undefined;
    },
  };
}
