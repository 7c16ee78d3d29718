/** Who waits for a change of which key, within this process. Used by the SQLite engine. */

import type { Bytes, Watch } from "./engine.ts";
import { textOf } from "./byte_text.ts";
import type { WrittenGroup } from "./conflict_log.ts";

export interface Watches {
  add(key: Bytes): Watch;
  /** Resolves the watches of all that was written, with true. */
  notify(written: WrittenGroup): void;
  /** Resolves all watches with false. */
  close(): void;
}

type End = (isChanged: boolean) => void;

export function openWatches(): Watches {
  const ends = new Map<string, Set<End>>();

  function endAll(text: string, isChanged: boolean): void {
    const set = ends.get(text);
    ends.delete(text);
    for (const end of set ?? []) end(isChanged);
  }

  function add(key: Bytes): Watch {
    const text = textOf(key);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const set = ends.get(text) ?? new Set();
    ends.set(text, set.add(resolve));
    return {
      changed: promise,
      cancel() {
        if (set.delete(resolve) && set.size === 0 && ends.get(text) === set) ends.delete(text);
        resolve(false);
      },
    };
  }

  function notify({ keys, ranges }: WrittenGroup): void {
    if (ends.size === 0) return;
    for (const text of [...ends.keys()]) {
      const isChanged = keys.has(text) ||
        ranges.some(({ begin, end }) => begin <= text && text < end);
      if (isChanged) endAll(text, true);
    }
  }

  return {
    add,
    notify,
    close: () => [...ends.keys()].forEach((text) => endAll(text, false)),
  };
}
