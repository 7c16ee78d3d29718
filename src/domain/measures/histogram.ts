/** Histograms that count values by size. Observing one value is a short scan without allocation. */

export interface Histogram {
  /** Upper bounds, ascending and inclusive. */
  readonly bounds: readonly number[];
  /** How many values fell into each range; the last entry counts those above all bounds. */
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
