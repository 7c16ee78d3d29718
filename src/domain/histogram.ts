/** Counts values by size, cheaply: one step through a short list, no allocation. */

export interface Histogram {
  /** Upper bounds, growing; a value equal to one is counted there. */
  readonly bounds: readonly number[];
  /** How many values are in each range; the last holds those above all bounds. */
  readonly counts: number[];
  sum: number;
}

export function newHistogram(bounds: readonly number[]): Histogram {
  return { bounds, counts: new Array(bounds.length + 1).fill(0), sum: 0 };
}

export function observe(histogram: Histogram, value: number): void {
  const { bounds, counts } = histogram;
  let at = 0;
  while (at < bounds.length && value > bounds[at]!) at++;
  counts[at]!++;
  histogram.sum += value;
}
