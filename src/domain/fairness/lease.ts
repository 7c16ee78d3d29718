/**
 * Leases: the right of one process to do one part of the background work, for as long as others
 * hear from it.
 *
 * A process that works announces it again and again. The others take over the leases of one whose
 * announcement they have seen unchanged for a while, by their own monotonic clocks. So it does not
 * matter what time it is anywhere. Silence only decides who tries. The term keeps an effect from
 * being applied twice: the transaction that commits an effect also checks the lease (`holdsLease()`
 * in `store/leases.ts`), and a lease that another process has taken has another term.
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
}

/** A process that does background work. */
export interface Worker {
  readonly owner: string;
  /** When it last announced itself: milliseconds since 1970, by its own clock. */
  readonly announcedMs: number;
}

/** The interval of announcements. Leases survive two that fail in a row. */
export const LEASE_RENEWAL_MS = 700;
/** How long after its last announcement a process uses its leases, by its own clock. */
export const LEASE_LIFETIME_MS = 2_500;
/** After this much silence others take over. */
export const LEASE_SILENCE_MS = 3_000;
/** After this much silence a process is forgotten. */
const FORGET_MS = 60_000;
/**
 * Silence between two looks counts for this much at most. A process that could not look, because
 * it was stopped or the store was away, cannot tell who was silent meanwhile.
 */
const LOOK_MS_MAX = 2 * LEASE_RENEWAL_MS;

/** What one process has heard of another. */
interface Heard {
  readonly announcedMs: number;
  readonly silentMs: number;
}

/** By owner. */
export type HeardWorkers = ReadonlyMap<string, Heard>;

/**
 * What has been heard after another look.
 * @param passedMs since the look before, by a monotonic clock.
 */
export function hear(
  before: HeardWorkers,
  workers: readonly Worker[],
  passedMs: number,
): HeardWorkers {
  const lookMs = Math.min(passedMs, LOOK_MS_MAX);
  return new Map(workers.map(({ owner, announcedMs }) => {
    const heard = before.get(owner);
    const isNew = heard === undefined || heard.announcedMs !== announcedMs;
    return [owner, { announcedMs, silentMs: isNew ? 0 : heard.silentMs + lookMs }];
  }));
}

/** The processes that have not been silent for too long. */
export function liveOwners(heard: HeardWorkers): ReadonlySet<string> {
  const live = [...heard].filter(([, { silentMs }]) => silentMs < LEASE_SILENCE_MS);
  return new Set(live.map(([owner]) => owner));
}

/** The processes whose announcements may be removed. */
export function forgottenOwners(heard: HeardWorkers): string[] {
  return [...heard].filter(([, { silentMs }]) => silentMs >= FORGET_MS).map(([owner]) => owner);
}
