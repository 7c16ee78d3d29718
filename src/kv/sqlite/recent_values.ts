/**
 * A cache of small values read recently, so that a hot key costs no call of SQLite. The head of
 * a busy stream is such a key. The engine alone owns its file and reports every change, so a
 * cached value is always the stored one. `sqlite/file.ts` uses it for reads of the newest
 * version.
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

/** Each method takes the key with its hash. */
export interface RecentValues {
  /** A copy, unaffected by later changes. */
  get(key: Bytes, hash: number): Bytes | undefined;
  /** Keeps a value just read, if it is small enough, and returns it. */
  keep(key: Bytes, hash: number, value: Bytes | undefined): Bytes | undefined;
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

export function openRecentValues(): RecentValues {
  const memory = openSlots();
  const slots = new LRUCache<number, number>({
    maxSize: RECENT_VALUES_MAX,
    sizeCalculation: () => 1,
    dispose: memory.free,
  });

  /**
   * The order of use only matters when room is short, and recording it costs as much as the
   * look-up.
   */
  function find(key: Bytes, hash: number): number | undefined {
    const slot = slots.size < ORDERED_FROM ? slots.peek(hash) : slots.get(hash);
    return slot !== undefined && memory.isOf(slot, key) ? slot : undefined;
  }

  function keep(key: Bytes, hash: number, value: Bytes): void {
    let slot = slots.get(hash);
    if (slot === undefined) {
      slot = memory.take();
      slots.set(hash, slot);
    }
    memory.writeKey(slot, key);
    memory.writeValue(slot, value);
  }

  return {
    get(key, hash) {
      const slot = find(key, hash);
      return slot === undefined ? undefined : memory.readValue(slot);
    },
    keep(key, hash, value) {
      if (value !== undefined && isSmall(key, value)) keep(key, hash, value);
      return value;
    },
    change(key, hash, value) {
      const slot = find(key, hash);
      // A value that was never read must not push out one that was.
      if (slot === undefined) return;
      if (value === undefined || !isSmall(key, value)) slots.delete(hash);
      else memory.writeValue(slot, value);
    },
    forgetAll: () => slots.clear(),
  };
}

function isSmall(key: Bytes, value: Bytes): boolean {
  return value.length <= RECENT_VALUE_BYTES_MAX && key.length + value.length <= RECENT_SLOT_BYTES;
}

const SLOTS_PER_BLOCK = 256;
const BLOCK_BYTES = SLOTS_PER_BLOCK * RECENT_SLOT_BYTES;

/** Memory in slots for one key with its value each; it grows by blocks, as slots are used. */
function openSlots() {
  const blocks: Uint8Array[] = [];
  const keyLengths: number[] = [];
  const lengths: number[] = [];
  const freed: number[] = [];

  function take(): number {
    const slot = freed.pop() ?? lengths.push(0) - 1;
    if (slot === blocks.length * SLOTS_PER_BLOCK) blocks.push(new Uint8Array(BLOCK_BYTES));
    return slot;
  }

  function blockOf(slot: number): Uint8Array {
    return blocks[Math.floor(slot / SLOTS_PER_BLOCK)]!;
  }

  function beginOf(slot: number): number {
    return (slot % SLOTS_PER_BLOCK) * RECENT_SLOT_BYTES;
  }

  function isOf(slot: number, key: Bytes): boolean {
    if (keyLengths[slot] !== key.length) return false;
    const [block, begin] = [blockOf(slot), beginOf(slot)];
    for (let i = 0; i < key.length; i++) if (block[begin + i] !== key[i]) return false;
    return true;
  }

  function writeKey(slot: number, key: Bytes): void {
    blockOf(slot).set(key, beginOf(slot));
    keyLengths[slot] = key.length;
  }

  /** The value follows the key. */
  function writeValue(slot: number, value: Bytes): void {
    blockOf(slot).set(value, beginOf(slot) + keyLengths[slot]!);
    lengths[slot] = value.length;
  }

  function readValue(slot: number): Bytes {
    const copy = newBytes(lengths[slot]!);
    const begin = beginOf(slot) + keyLengths[slot]!;
    copy.set(blockOf(slot).subarray(begin, begin + copy.length));
    return copy;
  }

  const free = (slot: number) => void freed.push(slot);
  return { take, isOf, writeKey, writeValue, readValue, free };
}
