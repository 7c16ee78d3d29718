/**
 * Folded states in memory, by stream. An entry is used only under the fold hash and generation it
 * was made with, and never for more events than the head has: a read is always as current as the
 * head at its start.
 */

import { LRUCache } from "lru-cache";
import { createRecentMap } from "../domain/recent_map.ts";
import type { Refusal } from "../domain/refusal.ts";
import type { StreamKey } from "../domain/stream_key.ts";
import type { FoldedState } from "./fold_stream.ts";

/** Characters of state text kept in memory, in all and for one entry. */
const CACHE_CHARACTERS_MAX = 48 * 1024 * 1024;
const ENTRY_CHARACTERS_MAX = CACHE_CHARACTERS_MAX / 8;
/** What an entry costs beside its state. */
const ENTRY_CHARACTERS = 256;

/** Folds that are known to be too much, kept at a time. */
const REFUSALS_MAX = 1_000;

/** What exactly was too much: the same fold again would be too much again. */
export interface FoldName {
  readonly tenant: number;
  readonly stream: StreamKey;
  readonly foldHash: string;
  readonly generation: number;
  /** Events before and after. */
  readonly from: number;
  readonly to: number;
}

/** A state with what is known of it. */
export interface CachedState extends FoldedState {
  readonly foldHash: string;
  /** Set when it was found to be of all events: at which version of the store, and their times. */
  seen?: { readonly version: number; readonly createdAt: number; readonly updatedAt: number };
}

export interface StateCache {
  get(tenant: number, stream: StreamKey, foldHash: string): CachedState | undefined;
  set(tenant: number, stream: StreamKey, foldHash: string, state: FoldedState): void;
  /** The refusal that this very fold ended with before. Spares the work of finding out again. */
  refusal(name: FoldName): Refusal | undefined;
  refuse(name: FoldName, refusal: Refusal): void;
  /** Forgets all states: some may be of events that were erased. */
  clear(): void;
}

export function openStateCache(): StateCache {
  const states = new LRUCache<string, CachedState>({
    maxSize: CACHE_CHARACTERS_MAX,
    maxEntrySize: ENTRY_CHARACTERS_MAX,
    sizeCalculation: (state) => ENTRY_CHARACTERS + state.stateJson.length,
  });
  const refusals = createRecentMap<string, Refusal>(REFUSALS_MAX);
  return {
    refusal: (name) => refusals.get(textOf(name)),
    refuse: (name, refusal) => void refusals.set(textOf(name), refusal),
    get(tenant, stream, foldHash) {
      const name = `${tenant}/${stream}`;
      // What was used last matters where there is little room.
      const isRoomy = states.calculatedSize < CACHE_CHARACTERS_MAX / 2;
      const state = isRoomy ? states.peek(name) : states.get(name);
      return state?.foldHash === foldHash ? state : undefined;
    },
    clear: () => states.clear(),
    set(tenant, stream, foldHash, { length, bytes, generation, stateJson }) {
      states.set(`${tenant}/${stream}`, { length, bytes, generation, stateJson, foldHash });
    },
  };
}

function textOf({ tenant, stream, foldHash, generation, from, to }: FoldName): string {
  return `${tenant}/${stream}/${foldHash}/${generation}/${from}/${to}`;
}
