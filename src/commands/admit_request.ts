/**
 * Admits requests under the rate limits of their instance: reads and writes apart, over all of its
 * keys and environments. Spec: "Rate limits per instance (across all keys)".
 */

import { LRUCache } from "lru-cache";
import type { Instance } from "../domain/access.ts";
import { type RateKind, RATES_PER_MINUTE, type RateVerdict } from "../domain/plan.ts";
import { addAt, countAt, newRateWindow, type RateWindow, roomInMs } from "../domain/rate.ts";
import type { Host } from "../host.ts";

export interface RequestAdmission {
  /** Counts a request of an instance with limits, unless it is one too many. */
  admit(instance: Instance, kind: RateKind): RateVerdict;
}

/** Instances that asked within the last minute; each has up to 5 KB here. */
const INSTANCES_MAX = 10_000;
const BUCKET_MS = 100;

type Windows = Partial<Record<RateKind, RateWindow>>;

/** The tier counts as it is now: what was admitted under another one stays counted. */
export function createRequestAdmission(host: Host): RequestAdmission {
  const instances = new LRUCache<string, Windows>({ max: INSTANCES_MAX });
  return {
    admit({ id, tier }, kind) {
      let windows = instances.get(id);
      if (windows === undefined) instances.set(id, windows = {});
      const window = windows[kind] ??= newRateWindow(BUCKET_MS);
      return take(window, host.monotonicMs(), RATES_PER_MINUTE[tier][kind]);
    },
  };
}

function take(window: RateWindow, nowMs: number, limit: number): RateVerdict {
  const used = countAt(window, nowMs);
  if (used >= limit) {
    return { isAdmitted: false, limit, remaining: 0, retryAfterMs: roomInMs(window, nowMs, limit) };
  }
  addAt(window, nowMs);
  return { isAdmitted: true, limit, remaining: limit - used - 1, retryAfterMs: 0 };
}
