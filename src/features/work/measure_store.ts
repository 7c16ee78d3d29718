/**
 * Measures the store for operators, at most once a second however many ask.
 *
 * If the store does not answer in time, the measure says that it is down.
 */

import type { StoreMeasure } from "../../domain/measures/store_measure.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import { measureQueues } from "./measure_queues.ts";

/** How long a measure is reused. */
const KEPT_MS = 1_000;
/**
 * Monitoring systems usually wait ten seconds, and they need the rest of the answer in any
 * case.
 */
const WAIT_MS_MAX = 2_000;

const DOWN: StoreMeasure = { isUp: false, queues: [] };

/** Returns a function that measures; it never throws. */
export function openStoreMeasures(engine: Engine, host: Host): () => Promise<StoreMeasure> {
  let kept: { readonly measure: StoreMeasure; readonly atMs: number } | undefined;
  let running: Promise<StoreMeasure> | undefined;

  async function read(): Promise<StoreMeasure> {
    try {
      const [queues, told] = [await measureQueues(engine, host), await engine.measure?.()];
      return { isUp: true, queues, ...told };
    } catch (error) {
      host.log("warn", "The store could not be measured", {
        reason: error instanceof Error ? error.message : String(error),
      });
      return DOWN;
    }
  }

  async function readAndKeep(): Promise<StoreMeasure> {
    const measure = await read();
    kept = { measure, atMs: host.monotonicMs() };
    running = undefined;
    return measure;
  }

  return async () => {
    if (kept !== undefined && host.monotonicMs() - kept.atMs < KEPT_MS) return kept.measure;
    running ??= readAndKeep();
    let cancel = () => {};
    const late = new Promise<StoreMeasure>((resolve) => {
      cancel = host.startTimer(WAIT_MS_MAX, () => resolve(DOWN));
    });
    const measure = await Promise.race([running, late]);
    cancel();
    return measure;
  };
}
