/** Tracks who waits for a change of which key within this process. Used by the SQLite engine. */

import type { Bytes, Watch } from "./engine.ts";
import { textOf } from "./byte_text.ts";
import { isKeyWritten, type Written } from "./transaction/conflict_log.ts";
import { hashOf, type Keyed } from "./key_map.ts";

export interface Watches {
  add(key: Bytes): Watch;
  /** Resolves the watches of everything that was written with true. */
  notify(written: Written): void;
  /** Resolves all watches with false. */
  close(): void;
}

interface Watched extends Keyed {
  readonly ends: Set<(isChanged: boolean) => void>;
}

export function openWatches(): Watches {
  const watched = new Map<string, Watched>();

  function endAll(text: string, isChanged: boolean): void {
    const ends = watched.get(text)?.ends;
    watched.delete(text);
    for (const end of ends ?? []) end(isChanged);
  }

  function add(key: Bytes): Watch {
    const text = textOf(key);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const one = watched.get(text) ?? { key, hash: hashOf(key), ends: new Set() };
    one.ends.add(resolve);
    watched.set(text, one);
    return {
      changed: promise,
      cancel() {
        const isLast = one.ends.delete(resolve) && one.ends.size === 0;
        if (isLast && watched.get(text) === one) watched.delete(text);
        resolve(false);
      },
    };
  }

  function notify(written: Written): void {
    if (watched.size === 0) return;
    for (const [text, { key, hash }] of [...watched]) {
      if (isKeyWritten(written, key, hash)) endAll(text, true);
    }
  }

  return {
    add,
    notify,
    close: () => [...watched.keys()].forEach((text) => endAll(text, false)),
  };
}
