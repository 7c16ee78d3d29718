/**
 * Counts requests at the edge, shared by all listeners of a process.
 *
 * Each request costs two lookups and a short search. Every label has few values, whatever
 * clients send: routes are templates of `paths.ts`, and methods come from a list.
 */

import {
  type Histogram,
  LATENCY_SECONDS,
  newHistogram,
  observe,
  type Tally,
} from "../../domain/measures/counters.ts";
import { type Texts, TextSet } from "../../domain/lookup/text_map.ts";

/** For requests that match no path, and for preflights, which need none. */
export const NO_ROUTE = "none";
const OTHER_METHOD = "other";
const METHODS: Texts = new TextSet(
  ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
);

/** The requests of one route and method. */
export interface RouteCounts {
  readonly byStatus: Map<number, number>;
  /** By the first digit of the status. */
  readonly seconds: Map<number, Histogram>;
}

export interface RequestCounts {
  /** By route template, then by method. */
  readonly routes: Map<string, Map<string, RouteCounts>>;
  /** Refused writes with a valid key, by `error_type`. */
  readonly writesRefused: Tally;
  /** Requests beyond a rate limit, by its scope. */
  readonly rateLimited: Tally;
}

export function newRequestCounts(): RequestCounts {
  return {
    routes: new Map(),
    writesRefused: new Map(),
    rateLimited: new Map([["instance", 0], ["ip", 0]]),
  };
}

/** Counts a request answered after `seconds`. `route` must be one of our templates. */
export function countRequest(
  { routes }: RequestCounts,
  route: string,
  method: string,
  status: number,
  seconds: number,
): void {
  let methods = routes.get(route);
  if (methods === undefined) routes.set(route, methods = new Map());
  const known = METHODS.has(method) ? method : OTHER_METHOD;
  let counts = methods.get(known);
  if (counts === undefined) {
    methods.set(known, counts = { byStatus: new Map(), seconds: new Map() });
  }
  counts.byStatus.set(status, (counts.byStatus.get(status) ?? 0) + 1);
  const statusClass = Math.floor(status / 100);
  let histogram = counts.seconds.get(statusClass);
  if (histogram === undefined) {
    counts.seconds.set(statusClass, histogram = newHistogram(LATENCY_SECONDS));
  }
  observe(histogram, seconds);
}
