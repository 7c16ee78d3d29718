/** The rate limits and monthly event allocations of each tier. See docs/reference/limits.md. */

import type { Tier } from "../access/access.ts";

export type RateKind = "read" | "write";

/** The figure that is shown where there is no limit. */
export const NO_LIMIT = 2_147_483_647;

/** Requests per minute. The documented rates per second are these divided by 60. */
export const RATES_PER_MINUTE: Readonly<Record<Tier, Readonly<Record<RateKind, number>>>> = {
  free: { write: 600, read: 3_000 },
  hobby: { write: 6_000, read: 30_000 },
  pro: { write: 12_000, read: 60_000 },
  scale: { write: 60_000, read: 300_000 },
  unlimited: { write: NO_LIMIT, read: NO_LIMIT },
};

/** What a rate limit says about one request. */
export interface RateVerdict {
  readonly isAdmitted: boolean;
  /** Requests per minute. */
  readonly limit: number;
  /** Requests left in the current minute. */
  readonly remaining: number;
  /** Milliseconds until there is room again; 0 when the request is admitted. */
  readonly retryAfterMs: number;
}

export const UNLIMITED: RateVerdict = {
  isAdmitted: true,
  limit: NO_LIMIT,
  remaining: NO_LIMIT,
  retryAfterMs: 0,
};

/** Events that an environment may store in a month; undefined means no limit. */
export const EVENTS_PER_MONTH: Readonly<Record<Tier, number | undefined>> = {
  free: 10_000,
  hobby: 1_000_000,
  pro: 10_000_000,
  scale: 100_000_000,
  unlimited: undefined,
};

/** How much of an allocation is used. */
export interface PlanUsage {
  readonly usage: number;
  readonly limit: number;
}

/** True from 80 % of the allocation, when answers begin to carry a warning header. */
export function isNearLimit({ usage, limit }: PlanUsage): boolean {
  return usage * 10 >= limit * 8;
}
