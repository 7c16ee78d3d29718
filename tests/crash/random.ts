/**
 * Random numbers from a seed: one seed, one schedule. The generator is sfc32, seeded by
 * splitmix32.
 */

export interface Random {
  /** At least 0, below 1. */
  next(): number;
  /** An integer from 0 to `bound` - 1. */
  below(bound: number): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly T[]): T;
  /** A version 4 UUID in lower case. */
  uuid(): string;
  /** A separate generator for a part of the work, so that parts do not disturb each other. */
  fork(label: number): Random;
}

export function createRandom(seed: number): Random {
  let mixed = seed >>> 0;
  const mix = () => {
    mixed = (mixed + 0x9e3779b9) >>> 0;
    let word = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
    word = Math.imul(word ^ (word >>> 15), 0x735a2d97);
    return (word ^ (word >>> 15)) >>> 0;
  };
  let [a, b, c, count] = [mix(), mix(), mix(), 1];
  const word = () => {
    const sum = (a + b + count) >>> 0;
    count = (count + 1) >>> 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) >>> 0;
    c = ((c << 21) | (c >>> 11)) >>> 0;
    c = (c + sum) >>> 0;
    return sum;
  };
  for (let i = 0; i < 12; i++) word();

  const next = () => word() / 2 ** 32;
  const below = (bound: number) => Math.floor(next() * bound);
  return {
    next,
    below,
    chance: (probability) => next() < probability,
    pick: <T>(list: readonly T[]) => list[below(list.length)] as T,
    uuid() {
      const hex = Array.from({ length: 4 }, () => word().toString(16).padStart(8, "0")).join("");
      const variant = "89ab"[below(4)];
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-` +
        `${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
    },
    // Multiply at each level, so that part 2 of part 3 differs from part 3 of part 2.
    fork: (label) =>
      createRandom((Math.imul(seed, 0x85ebca6b) + Math.imul(label + 1, 0x9e3779b1)) >>> 0),
  };
}
