/** Tracks who waits for a change of which key within this process. Used by the SQLite engine. */

import type { Bytes, Watch } from "./engine.ts";
import { hashOf, type Keyed } from "./key_map.ts";
import { openWatchedKeys, type WrittenKeys } from "./watched_keys.ts";

export interface Watches {
  add(key: Bytes): Watch;
  /** Resolves the watches of everything that was written with true. */
  notify(written: WrittenKeys): void;
  /** Resolves all watches with false. */
  close(): void;
}

interface Watched extends Keyed {
  readonly ends: Set<(isChanged: boolean) => void>;
}

export function openWatches(): Watches {
  const watched = openWatchedKeys<Watched>();

  function endWatched(one: Watched, isChanged: boolean): void {
    watched.remove(one);
    for (const end of one.ends) end(isChanged);
  }

  function add(key: Bytes): Watch {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    let one = watched.get(key);
    if (one === undefined) watched.add(one = { key, hash: hashOf(key), ends: new Set() });
    const joined = one;
    joined.ends.add(resolve);
    return {
      changed: promise,
      cancel() {
        if (joined.ends.delete(resolve) && joined.ends.size === 0) watched.remove(joined);
        resolve(false);
      },
    };
  }

  return {
    add,
    notify(written) {
      for (const one of watched.touchedBy(written)) endWatched(one, true);
    },
    close() {
      for (const one of watched.all()) endWatched(one, false);
    },
  };
}
