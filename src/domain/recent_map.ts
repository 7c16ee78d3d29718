/** A bounded cache that evicts the least recently used entry first. */

import { LRUCache } from "lru-cache";

/** A map of up to a fixed number (or total size) of entries. */
export type RecentMap<K extends string | number, V extends NonNullable<unknown>> = LRUCache<K, V>;

/**
 * `max` is the number of entries. Memory grows with the entries: the library's own `max` option
 * would allocate room for all of them up front, which takes noticeable time.
 */
export function createRecentMap<K extends string | number, V extends NonNullable<unknown>>(
  max: number,
): RecentMap<K, V> {
  return new LRUCache<K, V>({ maxSize: max, sizeCalculation: () => 1 });
}

/**
 * The same for values of different sizes; `max` bounds the sum of their sizes. The newest value is
 * kept even if it is larger; then it is the only one.
 */
export function createRecentMapBySize<K extends string | number, V extends NonNullable<unknown>>(
  max: number,
  sizeOf: (value: V) => number,
): RecentMap<K, V> {
  const sizeCalculation = (value: V) => Math.max(1, Math.min(Math.ceil(sizeOf(value)), max));
  return new LRUCache<K, V>({ maxSize: max, sizeCalculation });
}
