/** The goals for Daybook against its peers, computed from one run on one machine. */

import {
  BUSY,
  DISK,
  HOT_STREAM,
  MANY_TYPES,
  nameOfAppend,
  nameOfBatches,
  nameOfCachedRead,
  nameOfGrowth,
} from "./names.ts";

/** The figure of a peer for a work; undefined if there is none. */
export type Find = (peer: string, work: string) => number | undefined;

export interface Goal {
  readonly measure: string;
  /** `goal` and `floor` are in this goal's `unit`. */
  readonly goal: number;
  readonly floor: number;
  readonly unit: "x" | "%" | "events/s" | "x of 256";
  /** Whether less is better. */
  readonly isAtMost?: boolean;
  /** Undefined if a figure is missing. */
  reached(find: Find): number | undefined;
}

const OURS = "daybook";
const NOOP = "no-op";
const MESSAGE_DB = "message-db";
const EVENT_STORES = [MESSAGE_DB, "emmett postgres", "emmett sqlite"];
const EVENT_BYTES = 256;
const PERCENT = 100;

function over(above: number | undefined, below: number | undefined): number | undefined {
  return above === undefined || below === undefined ? undefined : above / below;
}

/** The best of the figures that exist. */
function best(figures: readonly (number | undefined)[]): number | undefined {
  const there = figures.filter((each) => each !== undefined);
  return there.length === 0 ? undefined : Math.max(...there);
}

function against(find: Find, peer: string, work: string): number | undefined {
  return over(find(OURS, work), find(peer, work));
}

function percentOf(find: Find, peer: string, work: string): number | undefined {
  const ratio = against(find, peer, work);
  return ratio === undefined ? undefined : ratio * PERCENT;
}

export const GOALS: readonly Goal[] = [
  {
    measure: "durable POST, 64 connections, against the best event store (also over 256 types)",
    goal: 4,
    floor: 2,
    unit: "x",
    reached(find) {
      const works = [nameOfAppend(BUSY), MANY_TYPES];
      const theirs = EVENT_STORES.flatMap((peer) => works.map((work) => find(peer, work)));
      return over(find(OURS, nameOfAppend(BUSY)), best(theirs));
    },
  },
  {
    measure: "the same against a bare PostgreSQL table",
    goal: 2,
    floor: 1.2,
    unit: "x",
    reached: (find) => against(find, "postgres table", nameOfAppend(BUSY)),
  },
  {
    measure: "the same against Redis streams",
    goal: 1.2,
    floor: 0.7,
    unit: "x",
    reached: (find) => against(find, "redis streams", nameOfAppend(BUSY)),
  },
  {
    measure: "one hot stream, against message-db",
    goal: 20,
    floor: 8,
    unit: "x",
    reached: (find) => against(find, MESSAGE_DB, HOT_STREAM),
  },
  {
    measure: "one category, against message-db",
    goal: 20,
    floor: 8,
    unit: "x",
    reached: (find) => against(find, MESSAGE_DB, nameOfAppend(BUSY)),
  },
  {
    measure: "batch of 10,000",
    goal: 150_000,
    floor: 80_000,
    unit: "events/s",
    reached: (find) => find(OURS, nameOfBatches(10_000)),
  },
  {
    measure: "cached GET against the no-op route",
    goal: 60,
    floor: 35,
    unit: "%",
    reached: (find) => percentOf(find, NOOP, nameOfCachedRead(10, BUSY)),
  },
  {
    measure: "durable POST against the no-op route",
    goal: 30,
    floor: 18,
    unit: "%",
    reached: (find) => percentOf(find, NOOP, nameOfAppend(BUSY)),
  },
  {
    measure: "one connection, against message-db",
    goal: 1.5,
    floor: 0.9,
    unit: "x",
    reached: (find) => against(find, MESSAGE_DB, nameOfAppend(1)),
  },
  {
    measure: "append rate at 10 million events against 100,000",
    goal: 95,
    floor: 85,
    unit: "%",
    reached(find) {
      const many = find(OURS, nameOfGrowth(10_000_000));
      const ratio = over(many, find(OURS, nameOfGrowth(100_000)));
      return ratio === undefined ? undefined : ratio * PERCENT;
    },
  },
  {
    measure: "bytes on disk for an event of 256 bytes, all indexes in",
    goal: 2,
    floor: 3,
    unit: "x of 256",
    isAtMost: true,
    reached: (find) => over(find(OURS, DISK), EVENT_BYTES),
  },
];

/** Says which line was reached. */
export function judge({ goal, floor, isAtMost }: Goal, reached: number): string {
  const holds = (line: number) => isAtMost ? reached <= line : reached >= line;
  if (holds(goal)) return "goal";
  return holds(floor) ? "floor" : "BELOW THE FLOOR";
}
