/** The world outside, as an argument: clock, randomness, network, log. Only here are they real. */

import { setImmediate } from "node:timers";

export type LogLevel = "debug" | "info" | "warn" | "error";

export interface Host {
  /** Milliseconds since 1970, UTC. */
  nowMs(): number;
  /** Cryptographically random bytes. */
  randomBytes(length: number): Uint8Array<ArrayBuffer>;
  /** An outgoing request. */
  fetch(request: Request): Promise<Response>;
  /** Calls `run` in so many milliseconds, unless the function that it gives is called before. */
  startTimer(milliseconds: number, run: () => void): () => void;
  /** Ends the current turn of the event loop, so that a long computation lets others in. */
  yieldTurn(): Promise<void>;
  /** One structured line. Fields never hold secrets: no keys, tokens, passwords or bodies. */
  log(level: LogLevel, message: string, fields?: Record<string, unknown>): void;
}

/** The host of a running server: system clock, system randomness, JSON lines on standard error. */
export function systemHost(): Host {
  return {
    nowMs: () => Date.now(),
    randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
    fetch: (request) => fetch(request),
    startTimer(milliseconds, run) {
      const timer = setTimeout(run, milliseconds);
      return () => clearTimeout(timer);
    },
    yieldTurn: () => new Promise((resolve) => setImmediate(resolve)),
    log(level, message, fields = {}) {
      const line = { time: new Date().toISOString(), level, message, ...fields };
      console.error(JSON.stringify(line));
    },
  };
}
