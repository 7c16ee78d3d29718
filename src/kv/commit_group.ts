/**
 * Chooses which waiting transactions the embedded engine commits together.
 *
 * Setting the rows of a group runs on the request thread without a pause, so a group has a limit in
 * rows. A transaction above that limit goes alone, and at most every second group is such a one.
 * Half of each other group is for small transactions. So a small write waits for one large
 * transaction, never for a queue of them, and no flood of small ones holds up the rest.
 */

/** Rows that one group sets; a single transaction may set more. */
export const GROUP_ROWS_MAX = 2_000;
/** A transaction of so few rows is one or a few writes of a client. */
export const SMALL_ROWS_MAX = 32;
/** Rows of a group that such transactions have for themselves. */
const SMALL_SHARE_ROWS = GROUP_ROWS_MAX / 2;
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

  function takeFitting(queue: T[]): T[] {
    const taken = new Set<T>();
    let rows = 0;
    const take = (rowsMax: number, ownMax: number) => {
      // Bounded: by the queue, which has at most one transaction for each request under way.
      for (const one of queue) {
        const own = rowsOf(one);
        if (own > ownMax || rows + own > rowsMax || taken.has(one)) continue;
        if (taken.size === GROUP_TRANSACTIONS_MAX) return;
        rows += own;
        taken.add(one);
      }
    };
    take(SMALL_SHARE_ROWS, SMALL_ROWS_MAX);
    take(GROUP_ROWS_MAX, GROUP_ROWS_MAX);
    if (taken.size === 0) return takeLarge(queue);
    isLargeNext = queue.some((one) => rowsOf(one) > GROUP_ROWS_MAX);
    const left = queue.filter((one) => !taken.has(one));
    queue.splice(0, queue.length, ...left);
    return [...taken];
  }

  return {
    take(queue) {
      if (fits(queue)) {
        isLargeNext = false;
        return queue.splice(0);
      }
      const isLarge = isLargeNext && queue.some((one) => rowsOf(one) > GROUP_ROWS_MAX);
      return isLarge ? takeLarge(queue) : takeFitting(queue);
    },
  };
}
