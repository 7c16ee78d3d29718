/** The world outside, as an argument: clock, randomness, network, log. Only here are they real. */

import process from "node:process";
import { setImmediate } from "node:timers";
import type { Tracer } from "./domain/tracer.ts";
import { type LoopTurns, openLoopTurns } from "./event_loop.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";

/** What the operating system says of this process. */
export interface ProcessMeasure {
  /** On all cores, since the start. */
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  /** Seconds since 1970. */
  readonly startedSeconds: number;
}

export interface Host {
  /** Milliseconds since 1970, UTC. */
  nowMs(): number;
  /** Milliseconds, and parts of them, of a clock that only goes forward: for how long it took. */
  monotonicMs(): number;
  /** Some microseconds of work. */
  measureProcess(): ProcessMeasure;
  /** Cryptographically random bytes. */
  randomBytes(length: number): Uint8Array<ArrayBuffer>;
  /** An outgoing request. */
  fetch(request: Request): Promise<Response>;
  /** Calls `run` in so many milliseconds, unless the function that it gives is called before. */
  startTimer(milliseconds: number, run: () => void): () => void;
  /**
   * Ends the current turn of the event loop, so that a long computation lets others in: what is
   * ready to run, and what has come in over the network meanwhile.
   */
  yieldTurn(): Promise<void>;
  /**
   * Lets run what is ready now, for what is to be done in some microseconds. Where that has gone on
   * for some milliseconds, what has come in over the network, too.
   */
  yieldBriefly(): Promise<void>;
  /** Told of each request that comes in. */
  sawNetwork(): void;
  /** What is under way, as `traceparent`; left out where nobody traces. */
  traceparent?(): string | undefined;
  /** One structured line. Fields never hold secrets: no keys, tokens, passwords or bodies. */
  log(level: LogLevel, message: string, fields?: Record<string, unknown>): void;
}

/**
 * What JSON leaves as it is and a terminal or a reader of lines obeys: delete and the second set of
 * control characters, line and paragraph separators, marks that turn the direction of a text.
 */
const OBEYED = /[\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g;

/** The same JSON with these spelt as escapes, as it has all other control characters anyway. */
function oneLine(json: string): string {
  return json.replace(OBEYED, (text) => `\\u${text.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

const MICROSECONDS_PER_SECOND = 1_000_000;
const MS_PER_SECOND = 1000;

const NOTHING = new Uint8Array();

function openTurns(): LoopTurns {
  return openLoopTurns({
    nowMs: () => performance.now(),
    next: () => new Promise((resolve) => setImmediate(resolve)),
    elsewhere: () => crypto.subtle.digest("SHA-256", NOTHING),
    soon: (run) => void setTimeout(run, 1),
  });
}

/** The host of a running server: system clock, system randomness, JSON lines on standard error. */
export function systemHost(tracer?: Tracer): Host {
  return {
    ...(tracer && { traceparent: tracer.traceparent }),
    nowMs: () => Date.now(),
    monotonicMs: () => performance.now(),
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
      // What a field is called never decides what the line is.
      console.error(oneLine(JSON.stringify({ ...head, ...fields, ...head })));
    },
  };
}
