/**
 * Sorts a long list in time slices, so that others can run in between. A large transaction brings
 * its keys in order this way before its commit, which runs in one piece.
 */

/** Sorted at once, and merged between two looks at the clock. */
const ITEMS_PER_STEP = 256;

/** Undefined while the slice may go on; otherwise resolves when the next one may begin. */
export type Rest = () => Promise<void> | undefined;

/** How long a slice lasts. */
const SLICE_MS = 4;

/** The first slice begins now. */
export function openSlices(nowMs: () => number, nextTurn: () => Promise<void>): Rest {
  let endMs = nowMs() + SLICE_MS;

  async function next(): Promise<void> {
    await nextTurn();
    endMs = nowMs() + SLICE_MS;
  }

  return () => nowMs() < endMs ? undefined : next();
}

/** Returns the items in order; equal ones keep theirs. */
export async function sortInSlices<T>(
  items: readonly T[],
  compare: (a: T, b: T) => number,
  rest: Rest,
): Promise<T[]> {
  let runs: T[][] = [];
  for (let from = 0; from < items.length; from += ITEMS_PER_STEP) {
    runs.push(items.slice(from, from + ITEMS_PER_STEP).sort(compare));
    const pause = rest();
    if (pause !== undefined) await pause;
  }
  while (runs.length > 1) {
    const longer: T[][] = [];
    for (let at = 0; at < runs.length; at += 2) {
      const [left, right] = [runs[at]!, runs[at + 1]];
      longer.push(right === undefined ? left : await merge(left, right, compare, rest));
    }
    runs = longer;
  }
  return runs[0] ?? [];
}

async function merge<T>(
  left: readonly T[],
  right: readonly T[],
  compare: (a: T, b: T) => number,
  rest: Rest,
): Promise<T[]> {
  const merged: T[] = [];
  let [l, r] = [0, 0];
  while (l < left.length && r < right.length) {
    merged.push(compare(left[l]!, right[r]!) <= 0 ? left[l++]! : right[r++]!);
    const pause = merged.length % ITEMS_PER_STEP === 0 ? rest() : undefined;
    if (pause !== undefined) await pause;
  }
  return merged.concat(left.slice(l), right.slice(r));
}
