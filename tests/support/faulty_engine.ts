/**
 * An engine that fails on demand, over any engine. Without faults it behaves exactly like the
 * engine below. After a lost reply it does what a network client library would: it runs the
 * body again, and `src/kv/foundationdb/exactly_once.ts` finds out whether the commit landed.
 */

import { wrapEngine } from "../../src/kv/calls.ts";
import { type Engine, EngineUnavailable, type Transaction } from "../../src/kv/engine.ts";
import { CommitUnknown, transactExactlyOnce } from "../../src/kv/foundationdb/exactly_once.ts";

/** The fault that one commit meets. */
export type Fault =
  /** The reply is lost, whether the commit landed or not; the engine retries by itself. */
  | { readonly kind: "lose_reply"; readonly landed: boolean }
  /** The body runs again this many times, as after real conflicts. */
  | { readonly kind: "conflict"; readonly times: number }
  /** The caller sees EngineUnavailable. */
  | { readonly kind: "unavailable"; readonly landed: boolean }
  /** The commit is delayed by this much, and may then really conflict. */
  | { readonly kind: "delay"; readonly milliseconds: number };

/**
 * The fault of each commit, counted from 0. Reruns after a lost reply count; transactions that
 * write nothing do not. Past the end of a list there are no faults.
 */
export type FaultPlan = readonly (Fault | undefined)[] | ((commit: number) => Fault | undefined);

export interface FaultyOptions {
  /** While this returns true, every call fails as unavailable. */
  readonly isAway?: () => boolean;
  /** Milliseconds since 1970, for the markers of attempts. */
  readonly nowMs?: () => number;
  /** Distinguishes this engine's markers from those of others over the same store. */
  readonly number?: number;
}

/** Thrown inside the engine below to make it drop a transaction; never leaves this file. */
class Dropped extends Error {
  override readonly name = "Dropped";
}

/** Wraps `inner`; closing the wrapper closes both. */
export function faultyEngine(
  inner: Engine,
  plan: FaultPlan = [],
  { isAway = () => false, nowMs = () => 0, number = 0 }: FaultyOptions = {},
): Engine {
  const faultOf = typeof plan === "function" ? plan : (commit: number) => plan[commit];
  let commits = 0;
  let calls = 0;

  function refuseAway(): void {
    if (isAway()) throw new EngineUnavailable("The store is away (a planned fault)");
  }

  async function attempt<T>(body: (tx: Transaction) => Promise<T>): Promise<T> {
    let fault: Fault | undefined;
    let isChosen = false;
    let conflicts = 0;
    for (;;) {
      try {
        const value = await inner.transact(async (tx) => {
          const watched = watchingWrites(tx);
          const value = await body(watched.tx);
          if (!watched.hasWritten()) return value;
          if (!isChosen) fault = faultOf(commits++);
          isChosen = true;
          if (fault?.kind === "delay") await sleep(fault.milliseconds);
          const isDropped = fault !== undefined && "landed" in fault && !fault.landed;
          const isConflict = fault?.kind === "conflict" && conflicts++ < fault.times;
          if (isDropped || isConflict) throw new Dropped();
          return value;
        });
        if (fault !== undefined) failAfterCommit(fault);
        return value;
      } catch (error) {
        if (!(error instanceof Dropped)) throw error;
        failAfterCommit(fault!);
      }
    }
  }

  return wrapEngine(inner, {
    async transact(body, options) {
      refuseAway();
      const id = new Uint8Array(16);
      const view = new DataView(id.buffer);
      view.setUint32(8, number);
      view.setUint32(12, calls++);
      const unmarked = typeof plan !== "function" && plan.length === 0;
      if (unmarked) return await inner.transact(body, options);
      return await transactExactlyOnce(attempt, body, {
        id,
        nowMs: nowMs(),
      });
    },
    async snapshot(body, options) {
      refuseAway();
      return await inner.snapshot(body, options);
    },
  });
}

function failAfterCommit(fault: Fault): void {
  if (fault.kind === "lose_reply") throw new CommitUnknown("The reply was lost (a planned fault)");
  if (fault.kind === "unavailable") {
    throw new EngineUnavailable("The store went away (a planned fault)");
  }
}

function watchingWrites(tx: Transaction): { tx: Transaction; hasWritten(): boolean } {
  let written = false;
  return {
    hasWritten: () => written,
    tx: {
      unguarded: tx.unguarded,
      get: (key) => tx.get(key),
      getRange: (range, options) => tx.getRange(range, options),
      readVersion: () => tx.readVersion(),
      set: (key, value) => (written = true, tx.set(key, value)),
      clear: (key) => (written = true, tx.clear(key)),
      clearRange: (range) => (written = true, tx.clearRange(range)),
      add: (key, delta) => (written = true, tx.add(key, delta)),
      setStamped: (prefix, suffix, value) => (
        written = true, tx.setStamped(prefix, suffix, value)
      ),
    },
  };
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Faults that a commit may meet. Whichever it meets, the write must take effect exactly once. */
export const COMMIT_FAULTS: readonly { readonly name: string; readonly fault: Fault }[] = [
  { name: "its reply is lost and it landed", fault: { kind: "lose_reply", landed: true } },
  { name: "its reply is lost and it did not", fault: { kind: "lose_reply", landed: false } },
  { name: "the store goes away and it landed", fault: { kind: "unavailable", landed: true } },
  { name: "the store goes away and it did not", fault: { kind: "unavailable", landed: false } },
  { name: "it meets three conflicts", fault: { kind: "conflict", times: 3 } },
];
