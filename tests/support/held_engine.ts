/**
 * An engine on which a test decides when a transaction commits: what began first can be made to
 * land last, and a process can be made to sleep between having looked and having written.
 */

import type { Engine } from "../../src/kv/engine.ts";

export interface HeldEngine extends Engine {
  /**
   * Holds the next transaction that begins just before its first commit; one whose body throws
   * leaves that to the one after it.
   */
  hold(): HeldCommit;
}

export interface HeldCommit {
  /** Resolves when the body has run and the commit is waiting. */
  readonly reached: Promise<void>;
  /** Lets it try to commit; what has changed meanwhile is a conflict, and the body runs again. */
  release(): void;
}

/** Wraps `inner`; everything that is not held passes. A store lets nobody wait five seconds. */
export function heldEngine(inner: Engine): HeldEngine {
  const waiting: { reach: () => void; released: Promise<void> }[] = [];
  return {
    hold() {
      const reached = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      waiting.push({ reach: reached.resolve, released: released.promise });
      return { reached: reached.promise, release: released.resolve };
    },
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
    snapshot: (body, options) => inner.snapshot(body, options),
    watch: (key) => inner.watch(key),
    close: () => inner.close(),
  };
}
