/**
 * The root of a chain of reactions: the client's write that began it.
 *
 * Everything that follows from a root, at any depth, draws on one budget. A spec whose events
 * set each other off therefore comes to an end. A recurring timer, one that schedules itself
 * again, would eventually exhaust that budget although nothing is wrong with it: it may fire
 * once an hour for years. Recurring timers therefore draw on a budget that their environment
 * has for each hour.
 */

import type { StreamKey } from "../identifier.ts";

export interface Root {
  /** `<stream key>/<id>`: the id of the root event, or of the write if it has several events. */
  readonly of: string;
  /** The number of events that the write has set off at once. */
  readonly first: number;
  /** `<aggregate_type>.<event_type>` of each scheduled event on the path from the root to here. */
  readonly timers: readonly string[];
  /** Whether a timer on that path has scheduled itself again. */
  readonly isRecurring: boolean;
}

/** A root as stored with pending work; fields with their default value are left out. */
export interface StoredRoot {
  /** Absent: the event that the work belongs to is the root. */
  readonly of?: string;
  /** Absent: 1. */
  readonly first?: number;
  readonly timers?: readonly string[];
  readonly isRecurring?: true;
}

/** A path with this many different timers counts as recurring. */
const TIMERS_MAX = 16;
const MS_PER_HOUR = 3_600_000;

/** The name of a root that is one event. */
export function rootName(key: string, id: string): string {
  return `${key}/${id}`;
}

/** The stream that a root was written to. */
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

/** The part of the root that is stored with the work of an event. */
export function keptRoot({ of, first, timers, isRecurring }: Root): StoredRoot {
  return {
    of,
    first,
    ...(timers.length > 0 && { timers }),
    ...(isRecurring && { isRecurring }),
  };
}

/** The same for a scheduled event, whose type is added to the path. */
export function keptTimerRoot(stored: StoredRoot | undefined, timer: string): StoredRoot {
  const timers = stored?.timers ?? [];
  if (stored?.isRecurring) return stored;
  if (timers.includes(timer) || timers.length === TIMERS_MAX) {
    return { ...stored, isRecurring: true };
  }
  return { ...stored, timers: [...timers, timer] };
}

/** The hour since 1970 whose budget a recurring timer draws on. */
export function hourOf(nowMs: number): number {
  return Math.floor(nowMs / MS_PER_HOUR);
}

/** A moment in the hour after `nowMs`, chosen by a `share` of 0 to 1. */
export function momentOfNextHour(nowMs: number, share: number): number {
  return Math.floor((hourOf(nowMs) + 1 + share) * MS_PER_HOUR);
}
