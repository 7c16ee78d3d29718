/**
 * Folded states in memory, by stream. An entry is used only under the fold hash and generation it
 * was made with, and never for more events than the head has: a read is always as current as the
 * head at its start.
 */

import { LRUCache } from "lru-cache";
import type { StreamKey } from "../domain/stream_key.ts";
import type { FoldedState } from "./fold_stream.ts";

/** Characters of state text kept in memory, in all and for one entry. */
const CACHE_CHARACTERS_MAX = 48 * 1024 * 1024;
const ENTRY_CHARACTERS_MAX = CACHE_CHARACTERS_MAX / 8;
/** What an entry costs beside its state. */
const ENTRY_CHARACTERS = 256;

interface CachedState extends FoldedState {
  readonly foldHash: string;
}

export interface StateCache {
  get(tenant: number, stream: StreamKey, foldHash: string): FoldedState | undefined;
  set(tenant: number, stream: StreamKey, foldHash: string, state: FoldedState): void;
}

export function openStateCache(): StateCache {
  const states = new LRUCache<string, CachedState>({
    maxSize: CACHE_CHARACTERS_MAX,
    maxEntrySize: ENTRY_CHARACTERS_MAX,
    sizeCalculation: (state) => ENTRY_CHARACTERS + state.stateJson.length,
  });
  return {
    get(tenant, stream, foldHash) {
      const state = states.get(`${tenant}/${stream}`);
      return state?.foldHash === foldHash ? state : undefined;
    },
    set(tenant, stream, foldHash, { length, bytes, generation, stateJson }) {
      states.set(`${tenant}/${stream}`, { length, bytes, generation, stateJson, foldHash });
    },
  };
}
