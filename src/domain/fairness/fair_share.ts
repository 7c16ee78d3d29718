/**
 * Fairness between environments that share a queue.
 *
 * Each round takes the first entries in line, so an environment that is alone runs at full
 * speed. If more is waiting, the round also takes some entries of other environments. So a
 * backlog of one environment delays another by a few rounds, not by the whole backlog.
 */

/**
 * What a round takes from an outbox shard besides its page: the first `each` entries of each of
 * the next `reads` tenants.
 */
export const OUTBOX_TURN = { each: 10, reads: 8 } as const;

/**
 * How many timers of a shard a round scans to find those of other tenants. Timers are ordered
 * by time, so another tenant's may be anywhere. A timer is a short key without a value.
 */
export const TIMER_WINDOW = 1_000;

interface OfTenant {
  readonly tenant: number;
}

export interface OthersTaken<T> {
  readonly taken: readonly T[];
  /** The last entry that was looked at; undefined when the window was empty. */
  readonly last: T | undefined;
}

/** Up to `max` entries of `window` whose tenants have nothing in `first`. */
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
