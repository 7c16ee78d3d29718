/**
 * Fairness between environments that share a queue. Each round takes what is first in line, so one
 * environment alone is as fast as it can be; where that is not all, the round also takes some of
 * the others. So what waits for one environment delays another by rounds, not by all that waits.
 */

/** Of an outbox shard in each round: first entries of a tenant; reads, each of the next tenant. */
export const OUTBOX_TURN = { each: 10, reads: 8 } as const;

/**
 * Timers of a shard that a round looks at to find those of others: they are in the order of their
 * time, so these may be anywhere. A timer is a short key without a value.
 */
export const TIMER_WINDOW = 1_000;

interface OfTenant {
  readonly tenant: number;
}

export interface OthersTaken<T> {
  readonly taken: readonly T[];
  /** Up to here the window was looked at; undefined where it was empty. */
  readonly last: T | undefined;
}

/** At most `max` of `window` whose tenants have nothing in `first`. */
export function takeOthers<T extends OfTenant>(
  first: readonly OfTenant[],
  window: readonly T[],
  max: number,
): OthersTaken<T> {
  const served = new Set(first.map(({ tenant }) => tenant));
  const taken: T[] = [];
  for (const each of window) {
    if (!served.has(each.tenant)) taken.push(each);
    if (taken.length >= max) return { taken, last: each };
  }
  return { taken, last: window.at(-1) };
}
