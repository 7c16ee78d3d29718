/**
 * Admits requests under the rate limits of their instance. Reads and writes have separate
 * limits, each shared by all keys and environments of the instance. See
 * docs/reference/limits.md.
 */

import type { Instance } from "../../domain/access/access.ts";
import { type RateKind, RATES_PER_MINUTE, type RateVerdict } from "../../domain/limits/plan.ts";
import { addAt, countAt, newRateWindow, roomInMs } from "../../domain/limits/rate.ts";
import { createRecentTexts } from "../../domain/recent_map.ts";
import type { Host } from "../../host.ts";

export interface RequestAdmission {
  /**
   * Counts one request of a rate-limited instance, or refuses it when the limit is reached. The
   * instance's current tier decides; requests counted under an earlier tier stay counted.
   */
  admit(instance: Instance, kind: RateKind): RateVerdict | Promise<RateVerdict>;
}

/** Counts either the reads or the writes of one instance. */
export interface RateCounter {
  /** Counts one request, or refuses it when the limit is reached. `nowMs` is monotonic time. */
  take(nowMs: number, limit: number): RateVerdict | Promise<RateVerdict>;
}

type OpenCounter = (instanceId: string, kind: RateKind) => RateCounter;

/** Instances with counters in memory, up to 5 KB each; the least recently used one goes first. */
const INSTANCES_MAX = 10_000;
const BUCKET_MS = 100;

export function createRequestAdmission(
  host: Host,
  openCounter: OpenCounter = openOwnCounter,
): RequestAdmission {
  const instances = createRecentTexts<Partial<Record<RateKind, RateCounter>>>(
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

/** The counter for a deployment in which this process is the only one. */
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
