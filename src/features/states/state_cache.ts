/**
 * Caches folded states by stream, and makes views of them.
 *
 * An entry is used only under the fold hash and generation it was made with, and never if it
 * covers more events than the head has. So a read is always as current as the head at its
 * start.
 */

import { LRUCache } from "lru-cache";
import { createRecentMap } from "../../domain/recent_map.ts";
import type { AggregateView } from "../../domain/reading.ts";
import type { Refusal } from "../../domain/refusal.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { FoldedState } from "./fold_stream.ts";
import type { StreamHead } from "../../store/streams/stream_head.ts";
import type { Mark } from "./log_marks.ts";

/** The characters of state text kept in memory, in total and for one entry. */
const CACHE_CHARACTERS_MAX = 48 * 1024 * 1024;
const ENTRY_CHARACTERS_MAX = CACHE_CHARACTERS_MAX / 8;
/** The cost of an entry beside its state. */
const ENTRY_CHARACTERS = 256;

/** How many refused folds are remembered. */
const REFUSALS_MAX = 1_000;

/** Identifies a fold that exceeded its limits; repeating the same fold would exceed them again. */
export interface FoldName {
  readonly tenant: number;
  readonly stream: StreamKey;
  readonly foldHash: string;
  readonly generation: number;
  /** The number of events before and after the fold. */
  readonly from: number;
  readonly to: number;
}

/** A state with its fold hash and the result of the last check. */
export interface CachedState extends FoldedState {
  readonly foldHash: string;
  /**
   * Set when the state was found complete: the store's version then, and the times of its
   * events.
   */
  seen?: { readonly version: number; readonly createdAt: number; readonly updatedAt: number };
  /** The same for a store that other processes write to. */
  marked?: { readonly mark: Mark; readonly createdAt: number; readonly updatedAt: number };
}

export interface StateCache {
  get(tenant: number, stream: StreamKey, foldHash: string): CachedState | undefined;
  set(tenant: number, stream: StreamKey, foldHash: string, state: FoldedState): void;
  /**
   * The refusal with which the same fold ended before. Saves repeating a fold that cannot
   * succeed.
   */
  refusal(name: FoldName): Refusal | undefined;
  refuse(name: FoldName, refusal: Refusal): void;
  /** Drops all states: some may contain data of erased events. */
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
      // Recency matters only when room gets scarce, so it is not updated before.
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

/** Whether the state is of the stream's generation and not ahead of the head. */
export function isUsable(state: FoldedState, head: StreamHead): boolean {
  return state.generation === head.generation && state.length <= head.length;
}

/** Marks a state that the head says is complete. `mark`: from before the head was read. */
export function noteMarked(cached: CachedState | undefined, head: StreamHead, mark: Mark): void {
  if (cached?.length !== head.length || !isUsable(cached, head)) return;
  cached.marked = { mark, createdAt: head.createdAt, updatedAt: head.updatedAt };
}

/** How a singleton without events reads, and every aggregate before its first event. */
export const EMPTY_STATE: AggregateView = {
  dataJson: "{}",
  length: 0,
  createdAt: null,
  updatedAt: null,
};

/** Shorter states are returned without a version: comparing their text is just as fast. */
const VERSIONED_CHARACTERS_MIN = 64 * 1024;
const VERSION_HASH_CHARACTERS = 16;

/** Where in its stream a state belongs. */
export interface StatePlace {
  readonly length: number;
  readonly generation: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A state as returned to callers; long ones carry a version. */
export function viewOfState(
  dataJson: string,
  { length, createdAt, updatedAt, generation }: StatePlace,
  foldHash: string,
): AggregateView {
  if (dataJson.length < VERSIONED_CHARACTERS_MIN) {
    return { dataJson, length, createdAt, updatedAt };
  }
  const version = `${foldHash.slice(0, VERSION_HASH_CHARACTERS)}-${generation}-${length}`;
  return { dataJson, length, createdAt, updatedAt, version };
}

function textOf({ tenant, stream, foldHash, generation, from, to }: FoldName): string {
  return `${tenant}/${stream}/${foldHash}/${generation}/${from}/${to}`;
}
