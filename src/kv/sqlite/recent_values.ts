/**
 * A cache of small values read recently, so that a hot key costs no call of SQLite. The head of
 * a busy stream is such a key. The engine alone owns its file and reports every change, so a
 * cached value is always the stored one. Reads of the newest version go through it.
 *
 * Values are kept in slots that are reused. With an array for each, every change of a head would
 * leave one behind that has outlived the young generation, and the garbage collector would go
 * through the whole heap for them again and again. docs/internals/optimisations.md has what the
 * cache gives.
 *
 * A slot is found by the hash of its key and also holds the bytes of that key: of two keys with
 * one hash, the one read last is cached.
 */

import { LRUCache } from "lru-cache";
import type { Bytes } from "../engine.ts";
import { newBytes } from "../slab.ts";

type Read = (key: Bytes, hash: number) => Bytes | undefined;

/** Each method takes the key with its hash. */
export interface RecentValues {
  /** The cached value, or else the stored one, which is kept if it is small enough. */
  readonly get: Read;
  /** A commit sets the key or, without a value, removes it. */
  change(key: Bytes, hash: number, value: Bytes | undefined): void;
  /** For changes that do not name their keys, and for commits that failed. */
  forgetAll(): void;
}

/** 16 MB of slots. */
export const RECENT_VALUES_MAX = 7_500;
const ORDERED_FROM = RECENT_VALUES_MAX * 3 / 4;
/**
 * A head has 77 bytes, 32 for each bit set in the length of its stream, and up to 1,536 of
 * events. So the head of any stream of up to 4,095 events fits.
 */
export const RECENT_VALUE_BYTES_MAX = 2048;
/** For key and value together. Few keys have more than 128 bytes. */
export const RECENT_SLOT_BYTES = 2176;

/** @param read reads what the store has now. */
export function openRecentValues(read: Read): RecentValues {
  const { takeSlot, freeSlot } = openSlots();
  const slots = new LRUCache<number, Slot>({
    maxSize: RECENT_VALUES_MAX,
    sizeCalculation: () => 1,
    dispose: freeSlot,
  });

  /**
   * The order of use only matters when room is short, and recording it costs as much as the
   * look-up.
   */
  function find(key: Bytes, hash: number): Slot | undefined {
    const slot = slots.size < ORDERED_FROM ? slots.peek(hash) : slots.get(hash);
    if (slot === undefined || slot.keyLength !== key.length) return undefined;
    const { bytes } = slot;
    for (let i = 0; i < key.length; i++) if (bytes[i] !== key[i]) return undefined;
    return slot;
  }

  function keep(key: Bytes, hash: number, value: Bytes): void {
    let slot = slots.get(hash);
    if (slot === undefined) slots.set(hash, slot = takeSlot());
    slot.bytes.set(key);
    slot.keyLength = key.length;
    slot.bytes.set(value, key.length);
    slot.length = value.length;
  }

  return {
    get(key, hash) {
      const slot = find(key, hash);
      if (slot !== undefined) {
        // A copy, unaffected by later changes.
        const copy = newBytes(slot.length);
        copy.set(slot.bytes.subarray(key.length, key.length + slot.length));
        return copy;
      }
      const value = read(key, hash);
      if (value !== undefined && isSmall(key, value)) keep(key, hash, value);
      return value;
    },
    change(key, hash, value) {
      const slot = find(key, hash);
      // A value that was never read must not push out one that was.
      if (slot === undefined) return;
      if (value === undefined || !isSmall(key, value)) {
        slots.delete(hash);
        return;
      }
      slot.bytes.set(value, key.length);
      slot.length = value.length;
    },
    forgetAll: () => slots.clear(),
  };
}

function isSmall(key: Bytes, value: Bytes): boolean {
  return value.length <= RECENT_VALUE_BYTES_MAX && key.length + value.length <= RECENT_SLOT_BYTES;
}

/** Memory for one key, with its value behind it. */
interface Slot {
  readonly bytes: Uint8Array;
  keyLength: number;
  /** Of the value. */
  length: number;
}

const SLOTS_PER_BLOCK = 256;
const BLOCK_BYTES = SLOTS_PER_BLOCK * RECENT_SLOT_BYTES;

/** The memory grows by blocks, as slots are used. */
function openSlots() {
  const freed: Slot[] = [];
  let block = new ArrayBuffer(0);
  let used = SLOTS_PER_BLOCK;

  function takeSlot(): Slot {
    const slot = freed.pop();
    if (slot !== undefined) return slot;
    if (used === SLOTS_PER_BLOCK) {
      block = new ArrayBuffer(BLOCK_BYTES);
      used = 0;
    }
    const bytes = new Uint8Array(block, RECENT_SLOT_BYTES * used, RECENT_SLOT_BYTES);
    used++;
    return { bytes, keyLength: 0, length: 0 };
  }

  return { takeSlot, freeSlot: (slot: Slot) => void freed.push(slot) };
}
