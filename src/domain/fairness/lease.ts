/**
 * Leases: the right of one process to do one part of the background work for a limited time.
 *
 * A lease ends by the clock, so that another process takes over the work of one that died.
 * Clocks only decide who tries. The term keeps an effect from being applied twice: the
 * transaction that commits an effect also checks the lease (`holdsLease()` in
 * `store/leases.ts`), and a lease that another process has taken has another term.
 */

export interface LeaseName {
  readonly queue: string;
  /** From 0. */
  readonly shard: number;
}

export interface Lease extends LeaseName {
  /** Random id of one run of one process; empty while nobody holds the lease. */
  readonly owner: string;
  /** Grows with each change of owner. */
  readonly term: number;
  /** Milliseconds since 1970, by the owner's clock. */
  readonly endsMs: number;
}

/** A process that does background work, and until when its registration holds. */
export interface Worker {
  readonly owner: string;
  readonly endsMs: number;
}

/** From the last renewal to the end of the lease. */
export const LEASE_LIFETIME_MS = 15_000;
/** The interval of renewals. A lease survives three failed renewals in a row. */
export const LEASE_RENEWAL_MS = 3_000;
/**
 * Clocks of two nodes may differ by this much before one takes a lease that the other still
 * holds.
 */
export const LEASE_SKEW_MS = 2_000;

/** A lease that ends this much later than our clock allows was made by a wrong clock. */
const WRONG_CLOCK_MS = 60_000;

/** When a lease that is renewed at `nowMs` ends. */
export function leaseEnd(nowMs: number): number {
  return nowMs + LEASE_LIFETIME_MS;
}

/** For the owner: true while it may go on, by its own clock. */
export function isRunning({ endsMs }: Pick<Lease, "endsMs">, nowMs: number): boolean {
  return nowMs < endsMs;
}

/**
 * For all others: true when the lease may be taken. That includes a lease that ends far too
 * late: after a clock that ran an hour ahead, nobody should have to wait for an hour.
 */
export function isLeaseOver(
  { owner, endsMs }: Pick<Lease, "owner" | "endsMs">,
  nowMs: number,
): boolean {
  if (owner === "" || nowMs >= endsMs + LEASE_SKEW_MS) return true;
  return endsMs > leaseEnd(nowMs) + WRONG_CLOCK_MS;
}
