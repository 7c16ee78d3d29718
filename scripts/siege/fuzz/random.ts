/** Random choices that a seed repeats. */

export interface Random {
  /** A whole number from 0 to `limit - 1`. */
  below(limit: number): number;
  pick<T>(choices: readonly T[]): T;
  /** True in `percent` of a hundred cases. */
  chance(percent: number): boolean;
  /** A number from 1 up to the limit; small ones and the limit itself come most often. */
  size(limit: number): number;
}

/** Mulberry32. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    below,
    pick: (choices) => choices[below(choices.length)]!,
    chance: (percent) => below(100) < percent,
    size: (limit) => {
      const kind = below(4);
      if (kind === 0) return Math.max(1, limit);
      if (kind === 1) return 1 + below(Math.max(1, limit));
      return 1 + below(Math.max(1, Math.ceil(Math.sqrt(limit))));
    },
  };
}
