/**
 * Small values read lately, so that a hot key, such as the head of a busy stream, costs no call of
 * SQLite. The engine owns its file alone and tells of every change, so what is here is what is
 * stored. Used by `sqlite_file.ts` for reads of the newest version.
 */

import { LRUCache } from "lru-cache";
import type { Bytes } from "./engine.ts";
import { ownBytes } from "./slab.ts";

export interface RecentValues {
  get(text: string): Bytes | undefined;
  /** Keeps a value just read, if it is small enough, and gives it back. */
  keep(text: string, value: Bytes | undefined): Bytes | undefined;
  /** A commit sets or, without a value, removes the key. */
  change(text: string, value: Bytes | undefined): void;
  /** For changes that do not name their keys, and for commits that failed. */
  forgetAll(): void;
}

/** About 500 bytes each with their keys, and 16 MB if all were as large as they may be. */
const entriesMax = 20_000;
/** The head of a stream has up to 32 bytes for each bit of its length. */
const valueBytesMax = 512;

export function openRecentValues(): RecentValues {
  const values = new LRUCache<string, Bytes>({ maxSize: entriesMax, sizeCalculation: () => 1 });
  return {
    get: (text) => values.get(text),
    keep(text, value) {
      if (value !== undefined && value.length <= valueBytesMax) values.set(text, value);
      return value;
    },
    change(text, value) {
      // What nobody has read does not push out what somebody did.
      if (!values.has(text)) return;
      if (value === undefined || value.length > valueBytesMax) values.delete(text);
      else values.set(text, ownBytes(value));
    },
    forgetAll: () => values.clear(),
  };
}
