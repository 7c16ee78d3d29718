/**
 * An engine that lets a test decide when a transaction commits. The transaction that began
 * first can be made to land last, and a process can be made to sleep between its read and its
 * write.
 */

import { wrapEngine } from "../../src/kv/calls.ts";
import type { Engine } from "../../src/kv/engine.ts";

export interface HeldEngine extends Engine {
  /**
   * Holds the next transaction that begins, just before its first commit. If its body throws,
   * the hold passes to the following transaction.
   */
  hold(): HeldCommit;
}

export interface HeldCommit {
  /** Resolves when the body has run and the commit is waiting. */
  readonly reached: Promise<void>;
  /**
   * Lets it try to commit. If what it read has changed meanwhile, it conflicts and its body
   * runs again.
   */
  release(): void;
}

/**
 * Wraps `inner`; transactions that are not held pass through. Release a hold within five
 * seconds: a store refuses transactions that live longer.
 */
export function heldEngine(inner: Engine): HeldEngine {
  const waiting: { reach: () => void; released: Promise<void> }[] = [];
  function hold(): HeldCommit {
    const reached = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    waiting.push({ reach: reached.resolve, released: released.promise });
    return { reached: reached.promise, release: released.resolve };
  }

  const engine = wrapEngine(inner, {
    transact(body, options) {
      let held = waiting.shift();
      return inner.transact(async (tx) => {
        const first = held;
        held = undefined;
        const value = await body(tx).catch((error) => {
          if (first !== undefined) waiting.unshift(first);
          throw error;
        });
        first?.reach();
        await first?.released;
        return value;
      }, options);
    },
  });
  return { ...engine, hold };
}
