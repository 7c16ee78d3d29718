/**
 * Who waits for which key, found by what a commit wrote. Each written key is looked up among those
 * that are watched. A process with many environments watches some keys of each of them, and a
 * commit must not cost more because of that.
 */

import type { Bytes } from "./engine.ts";
import { hashOf, isSameKey, isWithin, type Keyed } from "./key_map.ts";
import type { WrittenGroup } from "./transaction/conflict_log.ts";

/** What a commit wrote. */
export type WrittenKeys = Pick<WrittenGroup, "keys" | "ranges">;

/** At most one entry for each key. */
export interface WatchedKeys<Entry extends Keyed> {
  get(key: Bytes): Entry | undefined;
  /** The caller has looked whether the key has an entry. */
  add(entry: Entry): void;
  /** Does nothing if the entry is no longer there. */
  remove(entry: Entry): void;
  /** Those whose keys were written. */
  touchedBy(written: WrittenKeys): Entry[];
  all(): Entry[];
}

export function openWatchedKeys<Entry extends Keyed>(): WatchedKeys<Entry> {
  /** By the hash of the key, which few keys share. */
  const byHash = new Map<number, readonly Entry[]>();

  function get(key: Bytes): Entry | undefined {
    return byHash.get(hashOf(key))?.find((entry) => isSameKey(entry.key, key));
  }

  function touchedBy({ keys, ranges }: WrittenKeys): Entry[] {
    const touched: Entry[] = [];
    for (const { key, hash } of keys.entries) {
      const found = byHash.get(hash);
      if (found === undefined) continue;
      for (const entry of found) if (isSameKey(entry.key, key)) touched.push(entry);
    }
    if (ranges.length === 0) return touched;
    const cleared = all().filter(({ key }) => ranges.some((range) => isWithin(key, range)));
    return [...new Set([...touched, ...cleared])];
  }

  function all(): Entry[] {
    return [...byHash.values()].flat();
  }

  return {
    get,
    add(entry) {
      byHash.set(entry.hash, [...byHash.get(entry.hash) ?? [], entry]);
    },
    remove(entry) {
      const left = byHash.get(entry.hash)?.filter((one) => one !== entry) ?? [];
      if (left.length > 0) byHash.set(entry.hash, left);
      else byHash.delete(entry.hash);
    },
    touchedBy,
    all,
  };
}
