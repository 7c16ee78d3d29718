/**
 * Caches folded states by stream, and makes views of them.
 *
 * An entry is used only under the fold hash and generation it was made with, and never if it
 * covers more events than the head has. So a read is always as current as the head at its
 * start.
 */

import { openPieces } from "../../domain/fairness/pieces.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import {
  type LoadedSnapshot,
  loadSnapshot,
  type SnapshotHeader,
  type SnapshotPlace,
} from "../../store/streams/snapshots.ts";
import type { StateJson } from "../../store/streams/state_parts.ts";
import { LRUCache } from "lru-cache";
import { createRecentTexts } from "../../domain/recent_map.ts";
import type { AggregateView } from "../../domain/reading.ts";
import type { Refusal } from "../../domain/refusal.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { FoldedState } from "./folded_state.ts";
import type { StreamHead } from "../../store/streams/stream_head.ts";
import type { Mark } from "./log_marks.ts";
import { TextMap } from "../../domain/lookup/text_map.ts";

/** The bytes that states take in memory, in total and for one entry. */
const CACHE_BYTES_MAX = 48 * 1024 * 1024;
const ENTRY_BYTES_MAX = CACHE_BYTES_MAX / 8;
/** The memory of an entry beside the text of its state. */
const ENTRY_BYTES = 700;
/** By how much the text of a state may differ from what its entry counts for. */
const SLACK_BYTES = 64;
/** A text with such a character takes two bytes for each. */
// deno-lint-ignore no-control-regex -- the range of Latin-1
const BEYOND_LATIN = /[^\x00-\xff]/;

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
  readonly slot: Slot;
  /**
   * Set when the state was found complete: the store's version then, and the times of its
   * events.
   */
  seen?: { readonly version: number; readonly createdAt: number; readonly updatedAt: number };
  /** The same for a store that other processes write to. */
  marked?: { readonly mark: Mark; readonly createdAt: number; readonly updatedAt: number };
}

/** The place of a stream, in which one state follows another. */
interface Slot {
  readonly tenant: number;
  readonly stream: StreamKey;
  state: CachedState | undefined;
  /** What it counts for: about the bytes of the state's text. */
  readonly bytes: number;
  isKept: boolean;
}

export interface StateCache {
  get(tenant: number, stream: StreamKey, foldHash: string): CachedState | undefined;
  set(tenant: number, stream: StreamKey, foldHash: string, state: FoldedState): void;
  /**
   * Puts the next state of a stream in place of one from this cache, which takes a fraction of the
   * time; false if there is none, it is not there any more, or the new one needs more or less room.
   */
  follow(before: FoldedState | undefined, state: FoldedState): boolean;
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
  /** By tenant, so that a stream's key is looked up as it is. */
  const slots = new Map<number, TextMap<Slot>>();
  const kept = new LRUCache<Slot, Slot>({
    maxSize: CACHE_BYTES_MAX,
    sizeCalculation: sizeOf,
    dispose: (slot) => {
      slot.isKept = false;
      const ofTenant = slots.get(slot.tenant);
      if (ofTenant?.get(slot.stream) !== slot) return;
      ofTenant.delete(slot.stream);
      if (ofTenant.size === 0) slots.delete(slot.tenant);
    },
  });
  const refusals = createRecentTexts<Refusal>(REFUSALS_MAX);
  return {
    refusal: (name) => refusals.get(textOf(name)),
    refuse: (name, refusal) => void refusals.set(textOf(name), refusal),
    get(tenant, stream, foldHash) {
      const slot = slots.get(tenant)?.get(stream);
      if (slot?.state?.foldHash !== foldHash) return undefined;
      // Recency matters only when room gets scarce, so it is not updated before.
      if (kept.calculatedSize >= CACHE_BYTES_MAX / 2) kept.get(slot);
      return slot.state;
    },
    clear: () => kept.clear(),
    set(tenant, stream, foldHash, state) {
      const before = slots.get(tenant)?.get(stream);
      if (before !== undefined) kept.delete(before);
      // A longer text is not kept, whatever its characters take.
      if (state.stateJson.length > ENTRY_BYTES_MAX) return;
      const bytes = bytesOf(state.stateJson);
      const slot: Slot = { tenant, stream, state: undefined, bytes, isKept: true };
      if (sizeOf(slot) > ENTRY_BYTES_MAX) return;
      slot.state = cachedState(state, foldHash, slot);
      const ofTenant = slots.get(tenant);
      if (ofTenant === undefined) slots.set(tenant, new TextMap([[stream, slot]]));
      else ofTenant.set(stream, slot);
      kept.set(slot, slot);
    },
    follow(before, state) {
      const { slot, foldHash } = (before ?? {}) as Partial<CachedState>;
      if (slot === undefined || slot.state !== before || !slot.isKept) return false;
      if (Math.abs(bytesOf(state.stateJson) - slot.bytes) > SLACK_BYTES) return false;
      slot.state = cachedState(state, foldHash!, slot);
      return true;
    },
  };
}

function sizeOf({ bytes }: Slot): number {
  return ENTRY_BYTES + bytes;
}

/** For a text of Latin-1, which the engine keeps as bytes, the search ends at once. */
function bytesOf(text: string): number {
  return BEYOND_LATIN.test(text) ? 2 * text.length : text.length;
}

function cachedState(
  { length, bytes, generation, stateJson }: FoldedState,
  foldHash: string,
  slot: Slot,
): CachedState {
  return { length, bytes, generation, stateJson, foldHash, slot };
}

/** Whether the state is of the stream's generation and not ahead of the head. */
export function isUsable(
  state: Pick<FoldedState, "length" | "generation">,
  head: StreamHead,
): boolean {
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
  dataJson: StateJson,
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

/** Loads the newest snapshot, if it is of any use for that head. */
type LoadShared = (place: SnapshotPlace, head: StreamHead) => Promise<LoadedSnapshot | undefined>;

/** A load may take long, so concurrent reads of one snapshot up to one head share it. */
export function shareLoads(engine: Engine, host: Host): LoadShared {
  const loading = new TextMap<Promise<LoadedSnapshot | undefined>>();

  return function loadShared(place, head) {
    const { tenant, stream, foldHash } = place;
    const name = `${tenant}/${stream}/${foldHash}/${head.generation}/${head.length}`;
    const joined = loading.get(name);
    if (joined !== undefined) return joined;
    const { rest } = openPieces(host);
    // A read of the past must not load megabytes of a later state.
    const fits = (header: SnapshotHeader) => isUsable(header, head);
    const load = loadSnapshot(engine, place, { rest, isUsable: fits })
      .finally(() => loading.delete(name));
    loading.set(name, load);
    return load;
  };
}
