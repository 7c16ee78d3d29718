/** A line in which owners take turns, however many each of them has in it. */

export interface FairLine<Owner> {
  /** Whether an owner has nobody in it. */
  isEmpty(owner: Owner): boolean;
  /** Puts `start` behind all others of its owner. */
  push(owner: Owner, start: () => void): void;
  /** Takes the next one of the first owner who may go on. That owner's next turn is the last. */
  take(mayGo: (owner: Owner) => boolean): (() => void) | undefined;
}

export function openFairLine<Owner extends number | string>(): FairLine<Owner> {
  /** Who waits, in the order of their turns. */
  const waiting = new Map<Owner, (() => void)[]>();

  return {
    isEmpty: (owner) => !waiting.has(owner),
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
