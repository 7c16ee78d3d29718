/**
 * The root of what is set off: one write of a client. All that follows from it, over all depths,
 * draws on one budget, so a spec whose events set each other off comes to an end.
 *
 * A timer that sets itself again would end with that budget although nothing is wrong with it: it
 * fires once an hour, for years. Such a timer draws on a budget of its environment for each hour.
 */

import type { StreamKey } from "../stream_key.ts";

export interface Root {
  /** `<stream key>/<id>`: the id of its event, or of its write where that has several. */
  readonly of: string;
  /** How many events its write has set off at once. */
  readonly first: number;
  /** `<aggregate_type>.<event_type>` of each scheduled event on the way from it to here. */
  readonly timers: readonly string[];
  /** Whether a timer on the way has set itself again. */
  readonly isRecurring: boolean;
}

/** As it is kept with pending work; what is left out says the least. */
export interface StoredRoot {
  /** Absent: the event that the work belongs to is the root. */
  readonly of?: string;
  /** Absent: 1. */
  readonly first?: number;
  readonly timers?: readonly string[];
  readonly isRecurring?: true;
}

/** A way with so many different timers in a row counts as one that goes on for ever. */
const TIMERS_MAX = 16;
const MS_PER_HOUR = 3_600_000;

/** The name of a root that is one event. */
export function rootName(key: string, id: string): string {
  return `${key}/${id}`;
}

/** The stream to which a root was written. */
export function rootKey(of: string): StreamKey {
  return of.slice(0, of.lastIndexOf("/")) as StreamKey;
}

/** The root of pending work that belongs to the event `id` of the stream `key`. */
export function rootOf(stored: StoredRoot | undefined, key: string, id: string): Root {
  return {
    of: stored?.of ?? rootName(key, id),
    first: stored?.first ?? 1,
    timers: stored?.timers ?? [],
    isRecurring: stored?.isRecurring ?? false,
  };
}

/** What work that belongs to an event of this root keeps of it. */
export function keptRoot({ of, first, timers, isRecurring }: Root): StoredRoot {
  return {
    of,
    first,
    ...(timers.length > 0 && { timers }),
    ...(isRecurring && { isRecurring }),
  };
}

/** The same of a scheduled event, whose type joins the way. */
export function keptTimerRoot(stored: StoredRoot | undefined, timer: string): StoredRoot {
  const timers = stored?.timers ?? [];
  if (stored?.isRecurring) return stored;
  if (timers.includes(timer) || timers.length === TIMERS_MAX) {
    return { ...stored, isRecurring: true };
  }
  return { ...stored, timers: [...timers, timer] };
}

/** The hour since 1970 on whose budget a recurring timer draws. */
export function hourOf(nowMs: number): number {
  return Math.floor(nowMs / MS_PER_HOUR);
}

/** A moment in the hour after that of `nowMs`, by a `share` of 0 to 1. */
export function momentOfNextHour(nowMs: number, share: number): number {
  return Math.floor((hourOf(nowMs) + 1 + share) * MS_PER_HOUR);
}
