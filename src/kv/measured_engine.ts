/**
 * Wraps an engine to report how each of its transactions ended, for metrics. It changes nothing
 * else. Snapshots are left alone, because what they serve is counted where requests are
 * answered.
 */

import type { Engine } from "./engine.ts";

/**
 * Called for each transaction: whether it committed, how often its body ran, how long it all
 * took.
 */
export type TransactionListener = (isCommitted: boolean, runs: number, seconds: number) => void;

const MS_PER_SECOND = 1000;

/** @param nowMs a monotonic clock, in milliseconds. */
export function measureEngine(
  engine: Engine,
  nowMs: () => number,
  onTransaction: TransactionListener,
): Engine {
  return {
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
    snapshot: (body, options) => engine.snapshot(body, options),
    durableVersion: engine.durableVersion?.bind(engine),
    watch: (key) => engine.watch(key),
    measure: engine.measure?.bind(engine),
    forget: engine.forget?.bind(engine),
    failure: engine.failure?.bind(engine),
    untilBroken: engine.untilBroken?.bind(engine),
    close: () => engine.close(),
  };
}
