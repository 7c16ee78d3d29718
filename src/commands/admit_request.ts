/**
 * Admits requests under the rate limits of their instance: reads and writes apart, over all of its
 * keys and environments. Spec: "Rate limits per instance (across all keys)".
 */

import type { Instance } from "../domain/access.ts";
import { type RateKind, RATES_PER_MINUTE, type RateVerdict } from "../domain/plan.ts";
import { addAt, countAt, newRateWindow, roomInMs } from "../domain/rate.ts";
import { createRecentMap } from "../domain/recent_map.ts";
import type { Host } from "../host.ts";

export interface RequestAdmission {
  /**
   * Counts a request of an instance with limits, unless it is one too many. By its tier as it is
   * now: what was admitted under another one stays counted.
   */
  admit(instance: Instance, kind: RateKind): RateVerdict | Promise<RateVerdict>;
}

/** The reads or the writes of one instance. */
export interface RateCounter {
  /** Counts one, unless it is one too many. `nowMs` is of the clock that only goes forward. */
  take(nowMs: number, limit: number): RateVerdict | Promise<RateVerdict>;
}

type OpenCounter = (instanceId: string, kind: RateKind) => RateCounter;

/** Instances that asked within the last minute; each has up to 5 KB here. */
const INSTANCES_MAX = 10_000;
const BUCKET_MS = 100;

export function createRequestAdmission(
  host: Host,
  openCounter: OpenCounter = openOwnCounter,
): RequestAdmission {
  const instances = createRecentMap<string, Partial<Record<RateKind, RateCounter>>>(
    INSTANCES_MAX,
  );
  return {
    admit({ id, tier }, kind) {
      let counters = instances.get(id);
      if (counters === undefined) instances.set(id, counters = {});
      const counter = counters[kind] ??= openCounter(id, kind);
      return counter.take(host.monotonicMs(), RATES_PER_MINUTE[tier][kind]);
    },
  };
}

/** Where this process is the only one. */
export function openOwnCounter(): RateCounter {
  const window = newRateWindow(BUCKET_MS);
  return {
    take(nowMs, limit) {
      const used = countAt(window, nowMs);
      if (used >= limit) {
        const retryAfterMs = roomInMs(window, nowMs, limit);
        return { isAdmitted: false, limit, remaining: 0, retryAfterMs };
      }
      addAt(window, nowMs);
      return { isAdmitted: true, limit, remaining: limit - used - 1, retryAfterMs: 0 };
    },
  };
}
