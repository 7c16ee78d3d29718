/**
 * Chooses which waiting transactions the embedded engine commits together.
 *
 * Setting the rows of a group runs on the request thread without a pause, so a group has a limit in
 * rows, and owners take turns in it. A transaction above that limit goes alone, and at most every
 * second group is such a one. So whoever writes little waits for one large transaction and one
 * group, however much the others have queued.
 */

/** Rows that one group sets; a single transaction may set more. */
export const GROUP_ROWS_MAX = 2_000;
/** The commit stamp has two bytes for the order within a group. */
export const GROUP_TRANSACTIONS_MAX = 10_000;

export interface Queued {
  /** How many rows the transaction sets or clears one by one. */
  readonly rows: number;
  /** Whose turn it uses; those without an owner share one. */
  readonly owner: number | undefined;
}

export interface GroupChooser<T extends Queued> {
  /** Removes the next group from `queue`. What stays keeps its order. Empty only for no queue. */
  take(queue: T[]): T[];
}

export function openGroupChooser<T extends Queued>(): GroupChooser<T> {
  let isLargeNext = false;

  function takeLarge(queue: T[]): T[] {
    isLargeNext = false;
    return queue.splice(queue.findIndex(isLarge), 1);
  }

  function takeInTurns(queue: T[]): T[] {
    const taken = new Set<T>();
    let lines = linesOf(queue);
    let rows = 0;
    // Bounded: by the queue, which has the transactions of requests and background work under way.
    for (let round = 0; lines.length > 0; round++) {
      lines = lines.filter((line) => {
        const one = line[round];
        if (one === undefined || rows + one.rows > GROUP_ROWS_MAX) return false;
        if (taken.size === GROUP_TRANSACTIONS_MAX) return false;
        rows += one.rows;
        taken.add(one);
        return true;
      });
    }
    if (taken.size === 0) return takeLarge(queue);
    isLargeNext = queue.some(isLarge);
    const left = queue.filter((one) => !taken.has(one));
    queue.length = 0;
    for (const one of left) queue.push(one);
    return [...taken];
  }

  return {
    take(queue) {
      if (fitsWhole(queue)) {
        isLargeNext = false;
        return queue.splice(0);
      }
      return isLargeNext && queue.some(isLarge) ? takeLarge(queue) : takeInTurns(queue);
    },
  };
}

function isLarge({ rows }: Queued): boolean {
  return rows > GROUP_ROWS_MAX;
}

function fitsWhole(queue: readonly Queued[]): boolean {
  let rows = 0;
  // Bounded: by the queue, as in `takeInTurns`.
  for (const one of queue) rows += one.rows;
  return rows <= GROUP_ROWS_MAX && queue.length <= GROUP_TRANSACTIONS_MAX;
}

/** The transactions of each owner in their order, without the large ones. */
function linesOf<T extends Queued>(queue: readonly T[]): T[][] {
  const lines = Map.groupBy(queue.filter((one) => !isLarge(one)), ({ owner }) => owner);
  return [...lines.values()];
}
