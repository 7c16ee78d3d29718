/** Bounded caches that evict the least recently used entry first. */

import { LRUCache } from "lru-cache";
import { TextMap } from "./lookup/text_map.ts";

/** A cache of up to a fixed number (or total size) of entries. */
export interface RecentMap<K extends string | number, V extends NonNullable<unknown>> {
  readonly size: number;
  /** Makes the entry the most recently used one. */
  get(key: K): V | undefined;
  has(key: K): boolean;
  set(key: K, value: V): void;
  delete(key: K): void;
  clear(): void;
  /** The most recently used first. */
  values(): Iterable<V>;
}

/** The number of entries is what counts, if no sizes are given. */
type SizeOf<V> = (value: V) => number;

/**
 * By numbers. `max` bounds the sum of the sizes; the newest value is kept even if it is larger;
 * then it is the only one. Memory grows with the entries: the library's own `max` option would
 * allocate room for all of them up front, which takes noticeable time.
 */
export function createRecentMap<K extends number, V extends NonNullable<unknown>>(
  max: number,
  sizeOf: SizeOf<V> = () => 1,
): RecentMap<K, V> {
  return openCache<K, V>(max, sizeOf);
}

/** The same by texts, which clients may have chosen. */
export function createRecentTexts<V extends NonNullable<unknown>>(
  max: number,
  sizeOf: SizeOf<V> = () => 1,
): RecentMap<string, V> {
  interface Slot {
    readonly text: string;
    readonly value: V;
  }
  const slots = new TextMap<Slot>();
  const kept = openCache<Slot, Slot>(max, ({ value }) => sizeOf(value), (slot) => {
    if (slots.get(slot.text) === slot) slots.delete(slot.text);
  });

  function drop(text: string): void {
    const slot = slots.get(text);
    if (slot !== undefined) kept.delete(slot);
  }

  return {
    get size() {
      return slots.size;
    },
    has: (text) => slots.has(text),
    get(text) {
      const slot = slots.get(text);
      return slot && kept.get(slot)?.value;
    },
    set(text, value) {
      drop(text);
      const slot = { text, value };
      slots.set(text, slot);
      kept.set(slot, slot);
    },
    delete: drop,
    clear: () => kept.clear(),
    values: () => kept.values().map(({ value }) => value),
  };
}

function openCache<K extends NonNullable<unknown>, V extends NonNullable<unknown>>(
  maxSize: number,
  sizeOf: SizeOf<V>,
  dispose?: (value: V) => void,
): LRUCache<K, V> {
  const sizeCalculation = (value: V) => Math.max(1, Math.min(Math.ceil(sizeOf(value)), maxSize));
  return new LRUCache<K, V>({ maxSize, sizeCalculation, dispose });
}
