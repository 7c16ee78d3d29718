/**
 * Runs a function for at most so long. On this platform that is `node:vm`, whose time limit
 * interrupts WebAssembly too, on the thread that calls it, and leaves the process usable. It costs
 * a thread a call, which is as much as all else of a short one.
 *
 * With one exception, found by trying: where the function ends in the same moment as its time, the
 * interruption can hit what runs next, and then the process ends. So this belongs into a process
 * that may end.
 */

import { Script } from "node:vm";

export type Limited<T> =
  | { readonly kind: "returned"; readonly value: T }
  | { readonly kind: "threw"; readonly error: unknown }
  /** It was interrupted. */
  | { readonly kind: "timeout" }
  /** It has ended, but not in time. */
  | { readonly kind: "late" };

/** How the script finds what to run: a property that is set once, for setting one is slow. */
const NAME = "__daybookTimeLimit";
const script = new Script(`${NAME}()`);
const TIMEOUT_CODE = "ERR_SCRIPT_EXECUTION_TIMEOUT";

let current = nothing;
Object.defineProperty(globalThis, NAME, { value: () => current() });

/** `milliseconds` is a whole number from 1 on. Not to be called from within `run`. */
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

/** The same where nothing interrupts `run`: what does not end is to be ended with its process. */
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
