/**
 * Shares a bounded room (bytes, entries or places) fairly among owners.
 *
 * A lone owner may take half of the room, and each further owner half of what the others leave.
 * So there is always room for another owner.
 */

export interface Shares<Owner> {
  /** Whether an owner has used up its share. */
  isFull(owner: Owner): boolean;
  /** Takes `count` units, or gives them back when it is negative. */
  add(owner: Owner, count: number): void;
}

/** Owners are environments (by number) or instances (by id). */
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
