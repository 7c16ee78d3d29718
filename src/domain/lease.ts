/**
 * A lease: the right of one process to do one part of the background work, for a limited time. It
 * ends by the clock, so that the work of a process that died goes on elsewhere.
 *
 * Clocks only decide who tries. What keeps an effect from being done twice is the term: an effect
 * commits together with a look at the lease (`holdsLease()` in `store/leases.ts`), and a lease that
 * somebody else took has another term.
 */

export interface LeaseName {
  readonly queue: string;
  /** From 0. */
  readonly shard: number;
}

export interface Lease extends LeaseName {
  /** Random id of one run of one process; empty while nobody has it. */
  readonly owner: string;
  /** Grows with each change of owner. */
  readonly term: number;
  /** Milliseconds since 1970 by the owner's clock. */
  readonly endsMs: number;
}

/** A process that does background work, until when it says so. */
export interface Worker {
  readonly owner: string;
  readonly endsMs: number;
}

/** From the last renewal to the end. */
export const LEASE_LIFETIME_MS = 15_000;
/** Renewed so often, a lease outlives three renewals that fail. */
export const LEASE_RENEWAL_MS = 3_000;
/** Clocks of two nodes may be so far apart without one taking what the other still holds. */
export const LEASE_SKEW_MS = 2_000;

/** A lease that ends so much later than it could by this clock was made by one that is wrong. */
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
 * For all others: true when the lease may be taken. Also where it ends far later than it should:
 * what a clock an hour ahead has left must not wait for an hour.
 */
export function isOver({ owner, endsMs }: Pick<Lease, "owner" | "endsMs">, nowMs: number): boolean {
  if (owner === "" || nowMs >= endsMs + LEASE_SKEW_MS) return true;
  return endsMs > leaseEnd(nowMs) + WRONG_CLOCK_MS;
}
