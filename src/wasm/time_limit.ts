/**
 * Runs a function for a limited time. On this platform `node:vm` does that: its time limit
 * interrupts WebAssembly too, on the thread that calls it, and leaves the process usable. It
 * costs a thread for each call, which is as much as all else in a short call.
 *
 * There is one exception, found by experiment: if the function ends at the very moment its time
 * is up, the interruption can hit what runs next, and the process ends. So this belongs in a
 * process that may end.
 */

import { Script } from "node:vm";

export type Limited<T> =
  | { readonly kind: "returned"; readonly value: T }
  | { readonly kind: "threw"; readonly error: unknown }
  /** It was interrupted. */
  | { readonly kind: "timeout" }
  /** It ended, but not in time. */
  | { readonly kind: "late" };

/**
 * The property through which the script finds what to run. It is set once, because setting a
 * property of the global object is slow.
 */
const NAME = "__daybookTimeLimit";
const script = new Script(`${NAME}()`);
const TIMEOUT_CODE = "ERR_SCRIPT_EXECUTION_TIMEOUT";

let current = nothing;
Object.defineProperty(globalThis, NAME, { value: () => current() });

/** `milliseconds` is a whole number, at least 1. Must not be called from within `run`. */
export function withTimeLimit<T>(milliseconds: number, run: () => T): Limited<T> {
  let value: T | undefined;
  current = () => {
    value = run();
  };
  try {
    script.runInThisContext({ timeout: milliseconds });
    return { kind: "returned", value: value as T };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    return code === TIMEOUT_CODE ? { kind: "timeout" } : { kind: "threw", error };
  }
}

/** The same without an interruption: if `run` does not end, its process must be ended. */
export function withinTime<T>(milliseconds: number, run: () => T): Limited<T> {
  const endsMs = performance.now() + milliseconds;
  const isLate = () => performance.now() >= endsMs;
  try {
    const value = run();
    return isLate() ? { kind: "late" } : { kind: "returned", value };
  } catch (error) {
    return isLate() ? { kind: "late" } : { kind: "threw", error };
  }
}

function nothing(): void {}
