/**
 * Chooses which waiting transactions the embedded engine commits together.
 *
 * Setting the rows of a group runs on the request thread without a pause, so a group has a limit in
 * rows. A transaction above that limit goes alone, and at most every second group is such a one:
 * small writes that arrive meanwhile wait for one large transaction, never for a queue of them.
 */

/** Rows that one group sets; a single transaction may set more. */
export const GROUP_ROWS_MAX = 2_000;
/** The commit stamp has two bytes for the order within a group. */
export const GROUP_TRANSACTIONS_MAX = 10_000;

export interface GroupChooser<T> {
  /** Removes the next group from `queue`. What stays keeps its order. Empty only for no queue. */
  take(queue: T[]): T[];
}

/** @param rowsOf how many rows a transaction sets or clears one by one. */
export function openGroupChooser<T>(rowsOf: (one: T) => number): GroupChooser<T> {
  let isLargeNext = false;

  function fits(queue: readonly T[]): boolean {
    let rows = 0;
    // Bounded: by the queue, which has at most one transaction for each request under way.
    for (const one of queue) rows += rowsOf(one);
    return rows <= GROUP_ROWS_MAX && queue.length <= GROUP_TRANSACTIONS_MAX;
  }

  function takeLarge(queue: T[]): T[] {
    isLargeNext = false;
    const at = queue.findIndex((one) => rowsOf(one) > GROUP_ROWS_MAX);
    return queue.splice(at, 1);
  }

  function takeSmall(queue: T[]): T[] {
    const group: T[] = [];
    const left: T[] = [];
    let rows = 0;
    let hasLarge = false;
    // Bounded: by the queue, which has at most one transaction for each request under way.
    for (const one of queue) {
      const own = rowsOf(one);
      if (own > GROUP_ROWS_MAX) hasLarge = true;
      if (rows + own > GROUP_ROWS_MAX || group.length === GROUP_TRANSACTIONS_MAX) left.push(one);
      else {
        rows += own;
        group.push(one);
      }
    }
    if (group.length === 0) return takeLarge(queue);
    isLargeNext = hasLarge;
    queue.splice(0, queue.length, ...left);
    return group;
  }

  return {
    take(queue) {
      if (fits(queue)) {
        isLargeNext = false;
        return queue.splice(0);
      }
      const isLarge = isLargeNext && queue.some((one) => rowsOf(one) > GROUP_ROWS_MAX);
      return isLarge ? takeLarge(queue) : takeSmall(queue);
    },
  };
}
