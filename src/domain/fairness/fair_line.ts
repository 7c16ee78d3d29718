/** A queue in which owners take turns, however many entries each of them has waiting. */

export interface FairLine<Owner> {
  /** Whether the owner has nothing waiting. */
  isEmpty(owner: Owner): boolean;
  /** How many entries of the owner wait. */
  count(owner: Owner): number;
  /** Puts `start` behind all other entries of its owner. */
  push(owner: Owner, start: () => void): void;
  /**
   * Takes the next entry of the first owner that `mayGo` allows. That owner then moves to the
   * end of the line.
   */
  take(mayGo: (owner: Owner) => boolean): (() => void) | undefined;
}

export function openFairLine<Owner extends number | string>(): FairLine<Owner> {
  /** Waiting entries by owner, in the order of the owners' turns. */
  const waiting = new Map<Owner, (() => void)[]>();

  return {
    isEmpty: (owner) => !waiting.has(owner),
    count: (owner) => waiting.get(owner)?.length ?? 0,
    push(owner, start) {
      const queue = waiting.get(owner);
      if (queue === undefined) waiting.set(owner, [start]);
      else queue.push(start);
    },
    take(mayGo) {
      for (const [owner, queue] of waiting) {
        if (!mayGo(owner)) continue;
        const start = queue.shift()!;
        waiting.delete(owner);
        if (queue.length > 0) waiting.set(owner, queue);
        return start;
      }
      return undefined;
    },
  };
}
