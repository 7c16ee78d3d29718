/**
 * Follows the calls of an engine: counts those that are under way, so that closing can wait for
 * them, and makes engines that differ from another one in a method, such as one that reports how
 * each transaction ended, for metrics.
 */

import { type Engine, kvLimits } from "./engine.ts";

export interface Calls {
  /** Runs `work` as one call. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Like `run`, for a caller that reports the end of the call itself: saves one promise per
   * call.
   */
  begin(): void;
  end(): void;
  /**
   * Resolves when no call runs, or after the longest time a transaction may last: calls older
   * than that are not waited for.
   */
  untilIdle(): Promise<void>;
}

/** @param refuse throws when no further call may begin. */
export function openCalls(refuse: () => void): Calls {
  let running = 0;
  let onIdle: (() => void) | undefined;

  function begin(): void {
    refuse();
    running++;
  }

  function end(): void {
    running--;
    if (running === 0) onIdle?.();
  }

  return {
    begin,
    end,
    async run(work) {
      begin();
      try {
        return await work();
      } finally {
        end();
      }
    },
    async untilIdle() {
      if (running === 0) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, kvLimits.transactionSecondsMax * 1000);
        onIdle = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    },
  };
}

/**
 * An engine that does what `inner` does, except for the methods in `own`. The methods of an engine
 * are bound to it, so they do not survive a spread; this is the one place that passes all of them
 * on.
 */
export function wrapEngine(inner: Engine, own: Partial<Engine>): Engine {
  return {
    capabilities: inner.capabilities,
    transact: (body, options) => inner.transact(body, options),
    snapshot: (body, options) => inner.snapshot(body, options),
    durableVersion: inner.durableVersion.bind(inner),
    watch: (key) => inner.watch(key),
    backup: () => inner.backup(),
    measure: () => inner.measure(),
    forget: () => inner.forget(),
    failure: () => inner.failure(),
    untilBroken: () => inner.untilBroken(),
    close: () => inner.close(),
    ...own,
  };
}

/** The same engine for work that nobody waits for. */
export function inBackground(engine: Engine): Engine {
  return wrapEngine(engine, {
    transact: (body, options) => engine.transact(body, { ...options, isBackground: true }),
  });
}

/**
 * Called for each transaction: whether it committed, how often its body ran, how long it all
 * took.
 */
export type TransactionListener = (isCommitted: boolean, runs: number, seconds: number) => void;

const MS_PER_SECOND = 1000;

/**
 * Wraps an engine to report how each of its transactions ended. It changes nothing else. Snapshots
 * are left alone, because what they serve is counted where requests are answered.
 * @param nowMs a monotonic clock, in milliseconds.
 */
export function measureEngine(
  engine: Engine,
  nowMs: () => number,
  onTransaction: TransactionListener,
): Engine {
  return wrapEngine(engine, {
    async transact(body, options) {
      const startedMs = nowMs();
      let runs = 0;
      let isCommitted = false;
      try {
        const value = await engine.transact((tx) => {
          runs++;
          return body(tx);
        }, options);
        isCommitted = true;
        return value;
      } finally {
        onTransaction(isCommitted, runs, (nowMs() - startedMs) / MS_PER_SECOND);
      }
    },
  });
}
