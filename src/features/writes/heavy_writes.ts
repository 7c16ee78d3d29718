/**
 * Limits heavy writes: those that take more than a few milliseconds to check or to prepare.
 * Such a write sets off much or has many events, and keeps megabytes in memory until it has
 * committed. So only a few run at a time, and instances share the places. All other writes pass
 * without waiting.
 */

import { openShares } from "../../domain/fairness/shares.ts";
import { openFairLine } from "../../domain/fairness/fair_line.ts";
import { limits } from "../../domain/limits.ts";

export interface HeavyWrites {
  /** Waits for a place. The returned function frees it and must be called exactly once. */
  enter(instanceId: string): Promise<() => void>;
}

export function openHeavyWrites(placesMax: number = limits.heavyWritesMax): HeavyWrites {
  const taken = openShares<string>(placesMax);
  const line = openFairLine<string>();

  function leave(instanceId: string): void {
    taken.add(instanceId, -1);
    for (;;) {
      const start = line.take((owner) => !taken.isFull(owner));
      if (start === undefined) return;
      start();
    }
  }

  async function enter(instanceId: string): Promise<() => void> {
    // A waiting write starts as soon as its instance has a place. So if there is a place now,
    // no write of the instance is waiting, and none is overtaken.
    if (!taken.isFull(instanceId)) taken.add(instanceId, 1);
    else {
      await new Promise<void>((resolve) => {
        line.push(instanceId, () => {
          taken.add(instanceId, 1);
          resolve();
        });
      });
    }
    return () => leave(instanceId);
  }

  return { enter };
}
