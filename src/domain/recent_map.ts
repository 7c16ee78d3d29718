/** A map with a limit, for what may be forgotten: what was not used for longest goes first. */

import { LRUCache } from "lru-cache";

/** Of up to so many entries. */
export type RecentMap<K extends string | number, V extends NonNullable<unknown>> = LRUCache<K, V>;

/**
 * `max`: entries. They take room as they come; by its own limit of entries the library would take
 * the room of all of them at once, 1.4 ms for 10,000.
 */
export function createRecentMap<K extends string | number, V extends NonNullable<unknown>>(
  max: number,
): RecentMap<K, V> {
  return new LRUCache<K, V>({ maxSize: max, sizeCalculation: () => 1 });
}

/**
 * The same for values of different sizes, up to `max` of them together. One counts for half of that
 * at most, so that it is kept however large it is.
 */
export function createRecentMapBySize<K extends string | number, V extends NonNullable<unknown>>(
  max: number,
  sizeOf: (value: V) => number,
): RecentMap<K, V> {
  const sizeCalculation = (value: V) => Math.max(1, Math.min(Math.ceil(sizeOf(value)), max >> 1));
  return new LRUCache<K, V>({ maxSize: max, sizeCalculation });
}
