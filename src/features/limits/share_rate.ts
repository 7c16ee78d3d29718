/**
 * Admits requests from this process's part of a rate limit that several processes share. It
 * takes the next part when half of the current one is used. See `domain/limits/rate_share.ts`.
 */

import { count, type Counters } from "../../domain/measures/counters.ts";
import type { RateKind, RateVerdict } from "../../domain/limits/plan.ts";
import { countAt, type RateWindow, roomInMs } from "../../domain/limits/rate.ts";
import { PART_MS, type TakenPart, takePart } from "../../domain/limits/rate_share.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import { readSharedWindow, storeSharedWindow } from "../../store/deployment.ts";
import type { RateCounter } from "./admit_request.ts";

export interface RateSharing {
  readonly engine: Engine;
  readonly host: Host;
  readonly counters: Counters;
  /** A name for this process that no other process has. */
  readonly owner: string;
}

/** How long a request waits for a part at most; then it is admitted. */
const WAIT_MS_MAX = 250;
/** While the store does not answer, requests are admitted: the store itself will stop them. */
const OUTAGE_PAUSE_MS = 1_000;

/** A part with requests left, and until when it may be used, in window time. */
interface Grant {
  count: number;
  readonly endsMs: number;
}

export function openSharedCounter(
  { engine, host, counters, owner }: RateSharing,
  instanceId: string,
  kind: RateKind,
): RateCounter {
  let grants: Grant[] = [];
  let limit = 0;
  let usual = 1;
  let mirror: RateWindow | undefined;
  /** Difference between window time and monotonic time; undefined before the first part. */
  let offsetMs: number | undefined;
  /** Until these times (monotonic), nothing is available or the store is not asked. */
  let emptyUntilMs = -Infinity;
  let outageUntilMs = -Infinity;
  let asking: Promise<void> | undefined;
  let waiting = 0;

  /** Drops what was taken under another limit, because it must not be used. */
  function changeLimit(next: number): void {
    limit = next;
    grants = [];
    emptyUntilMs = -Infinity;
  }

  function left(nowMs: number): number {
    const windowMs = nowMs + (offsetMs ?? 0);
    while (grants.length > 0 && (grants[0]!.count === 0 || grants[0]!.endsMs <= windowMs)) {
      grants.shift();
    }
    let sum = 0;
    for (const grant of grants) sum += grant.count;
    return sum;
  }

  function admitted(nowMs: number, own: number): RateVerdict {
    const elsewhere = mirror === undefined ? 0 : countAt(mirror, nowMs + (offsetMs ?? 0));
    const remaining = Math.max(0, Math.min(limit, limit - elsewhere + own));
    return { isAdmitted: true, limit, remaining, retryAfterMs: 0 };
  }

  /** Undefined if nothing is left but more may be available. */
  function tryTake(nowMs: number): RateVerdict | undefined {
    const own = left(nowMs);
    if (own > 0) {
      grants[0]!.count--;
      if (own <= usual / 2 && nowMs >= emptyUntilMs && nowMs >= outageUntilMs) void ask();
      return admitted(nowMs, own - 1);
    }
    if (nowMs < emptyUntilMs) {
      return { isAdmitted: false, limit, remaining: 0, retryAfterMs: emptyUntilMs - nowMs };
    }
    return nowMs < outageUntilMs ? admitted(nowMs, 0) : undefined;
  }

  function ask(): Promise<void> {
    return asking ??= askStore().finally(() => asking = undefined);
  }

  /** Never rejects. */
  async function askStore(): Promise<void> {
    const askedLimit = limit;
    try {
      let startedMs = 0;
      const part = await engine.transact(async (tx) => {
        const stored = await readSharedWindow(tx, instanceId, kind);
        startedMs = host.monotonicMs();
        const windowMs = offsetMs === undefined ? undefined : startedMs + offsetMs;
        const wallMs = host.nowMs();
        const taken = takePart(stored, { owner, windowMs, wallMs, limit: askedLimit, waiting });
        if (taken.count > 0) storeSharedWindow(tx, instanceId, kind, taken.stored);
        return taken;
      });
      offsetMs = part.windowMs - startedMs;
      if (askedLimit === limit) keep(part, startedMs);
      count(counters.rateShares, part.count > 0 ? "taken" : "empty");
    } catch {
      outageUntilMs = host.monotonicMs() + OUTAGE_PAUSE_MS;
      count(counters.rateShares, "failed");
    }
  }

  function keep(part: TakenPart, startedMs: number): void {
    mirror = part.window;
    usual = part.usual;
    if (part.count > 0) grants.push({ count: part.count, endsMs: part.windowMs + PART_MS });
    else emptyUntilMs = startedMs + roomInMs(part.window, part.windowMs, limit);
  }

  async function takeLater(asked: number): Promise<RateVerdict> {
    const patience = Promise.withResolvers<void>();
    const endTimer = host.startTimer(WAIT_MS_MAX, patience.resolve);
    let isPatient = true;
    void patience.promise.then(() => isPatient = false);
    waiting++;
    try {
      while (isPatient && limit === asked) {
        const verdict = tryTake(host.monotonicMs());
        if (verdict !== undefined) return verdict;
        await Promise.race([ask(), patience.promise]);
      }
      // The store may hang; the next requests need not wait as long.
      outageUntilMs = host.monotonicMs() + OUTAGE_PAUSE_MS;
      return admitted(host.monotonicMs(), 0);
    } finally {
      waiting--;
      endTimer();
    }
  }

  return {
    take(nowMs, asked) {
      if (asked !== limit) changeLimit(asked);
      return tryTake(nowMs) ?? takeLater(asked);
    },
  };
}
