/**
 * Writes that take more than a few milliseconds to check or to prepare. Such a write has megabytes
 * in memory until it has committed, for it sets much off or has many events. So a few of them are
 * under way at a time, and instances share the places. All others pass by.
 */

import { openShares } from "../domain/shares.ts";
import { openFairLine } from "../domain/fair_line.ts";
import { limits } from "../domain/limits.ts";

export interface HeavyWrites {
  /** Waits for a place. The function it gives frees that place, and is to be called once. */
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
    // Whoever waits goes on as soon as there is a place for its instance: nobody can be passed.
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
