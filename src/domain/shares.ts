/**
 * Room that owners share, in bytes, entries or places: one alone has half of it, and each next one
 * half of what the others leave. So there is always room for another.
 */

export interface Shares<Owner> {
  /** Whether an owner has its part. */
  isFull(owner: Owner): boolean;
  /** Takes so much, or gives it back where it is negative. */
  add(owner: Owner, count: number): void;
}

/** Owners are environments by their number, or instances by their id. */
export function openShares<Owner extends number | string = number>(
  countMax: number,
): Shares<Owner> {
  const byOwner = new Map<Owner, number>();
  let total = 0;

  return {
    isFull(owner) {
      const own = byOwner.get(owner) ?? 0;
      const others = total - own;
      return own > 0 && 2 * own >= countMax - others;
    },
    add(owner, count) {
      total += count;
      const own = (byOwner.get(owner) ?? 0) + count;
      if (own === 0) byOwner.delete(owner);
      else byOwner.set(owner, own);
    },
  };
}
