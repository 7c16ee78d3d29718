/**
 * Zipf's law over streams, drawn as in YCSB: few streams get most of the writes. See J. Gray
 * and others, "Quickly generating billion-record synthetic databases", 1994.
 */

/** Draws from 0 to `count - 1`, most often 0; `skew` is below 1, e.g. 0.99. */
export function openZipf(count: number, skew: number, random: () => number): () => number {
  let zeta = 0;
  for (let rank = 1; rank <= count; rank++) zeta += rank ** -skew;
  const zetaOfTwo = 1 + 0.5 ** skew;
  const alpha = 1 / (1 - skew);
  const eta = (1 - (2 / count) ** (1 - skew)) / (1 - zetaOfTwo / zeta);
  return () => {
    const drawn = random();
    const scaled = drawn * zeta;
    if (scaled < 1) return 0;
    if (scaled < zetaOfTwo) return 1;
    return Math.min(count - 1, Math.floor(count * (eta * drawn - eta + 1) ** alpha));
  };
}
