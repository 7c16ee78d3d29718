/** How much work is done: to see that it runs, for the table, and for the complete list. */

export interface Sizes {
  readonly name: "small" | "standard" | "full";
  /** Measured time of one figure, after the time in which it settles. */
  readonly seconds: number;
  /** Time for appends before the first figure of a server, until its code is fully compiled. */
  readonly warmupSeconds: number;
  /** Time before each figure. */
  readonly settleSeconds: number;
  readonly streams: number;
  readonly connections: readonly number[];
  readonly batches: readonly number[];
  /** Lengths of the aggregates that are read. */
  readonly lengths: readonly number[];
  /** Events stored in all at the moments when the rate of appends is measured. */
  readonly growth: readonly number[];
  /** Filling a store ends after this time; works that need more events are then left out. */
  readonly fillSeconds: number;
  /** A work of one peer is given up after this time. */
  readonly limitSeconds: number;
  /** A work that has not begun after this many minutes is left out. */
  readonly minutes: number;
}

export const SIZES: Readonly<Record<Sizes["name"], Sizes>> = {
  small: {
    name: "small",
    seconds: 0.5,
    warmupSeconds: 0.5,
    settleSeconds: 0.2,
    streams: 200,
    connections: [1, 64],
    batches: [10, 1_000],
    lengths: [10, 1_000],
    growth: [5_000, 20_000],
    fillSeconds: 10,
    limitSeconds: 60,
    minutes: 10,
  },
  standard: {
    name: "standard",
    seconds: 2,
    warmupSeconds: 3,
    settleSeconds: 0.4,
    streams: 1_000,
    connections: [1, 4, 16, 64, 256],
    batches: [10, 100, 10_000],
    lengths: [10, 1_000, 100_000],
    growth: [100_000, 1_000_000],
    fillSeconds: 12,
    limitSeconds: 90,
    minutes: 18,
  },
  full: {
    name: "full",
    seconds: 8,
    warmupSeconds: 8,
    settleSeconds: 1,
    streams: 5_000,
    connections: [1, 4, 16, 64, 256],
    batches: [10, 100, 10_000],
    lengths: [10, 1_000, 100_000],
    growth: [100_000, 10_000_000],
    fillSeconds: 1_800,
    limitSeconds: 4_800,
    minutes: 360,
  },
};
