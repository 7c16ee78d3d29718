/**
 * Small values read lately, so that a hot key, such as the head of a busy stream, costs no call of
 * SQLite. The engine owns its file alone and tells of every change, so what is here is what is
 * stored. Used by `sqlite_file.ts` for reads of the newest version.
 *
 * Their bytes are in slots that are used again. With an array of its own for each, every change of
 * a head would leave one behind that has outlived the young generation, and the collector would go
 * through all of the heap for them every other second.
 */

import { LRUCache } from "lru-cache";
import type { Bytes } from "./engine.ts";
import { newBytes } from "./slab.ts";

export interface RecentValues {
  /** A copy, which no later change changes. */
  get(text: string): Bytes | undefined;
  /** Keeps a value just read, if it is small enough, and gives it back. */
  keep(text: string, value: Bytes | undefined): Bytes | undefined;
  /** A commit sets or, without a value, removes the key. */
  change(text: string, value: Bytes | undefined): void;
  /** For changes that do not name their keys, and for commits that failed. */
  forgetAll(): void;
}

/** 10 MB of slots, and the keys. */
export const RECENT_VALUES_MAX = 20_000;
const ORDERED_FROM = RECENT_VALUES_MAX / 2;
/** The head of a stream has up to 32 bytes for each bit of its length. */
export const RECENT_VALUE_BYTES_MAX = 512;

export function openRecentValues(): RecentValues {
  const memory = openSlots();
  const slots = new LRUCache<string, number>({
    maxSize: RECENT_VALUES_MAX,
    sizeCalculation: () => 1,
    dispose: memory.free,
  });

  /** What was used last matters where there is little room; to note it costs as much again. */
  function find(text: string): number | undefined {
    return slots.size < ORDERED_FROM ? slots.peek(text) : slots.get(text);
  }

  function put(text: string, value: Bytes): void {
    let slot = find(text);
    if (slot === undefined) {
      slot = memory.take();
      slots.set(text, slot);
    }
    memory.write(slot, value);
  }

  return {
    get(text) {
      const slot = find(text);
      return slot === undefined ? undefined : memory.read(slot);
    },
    keep(text, value) {
      if (value !== undefined && value.length <= RECENT_VALUE_BYTES_MAX) put(text, value);
      return value;
    },
    change(text, value) {
      // What nobody has read does not push out what somebody did.
      if (!slots.has(text)) return;
      if (value === undefined || value.length > RECENT_VALUE_BYTES_MAX) slots.delete(text);
      else put(text, value);
    },
    forgetAll: () => slots.clear(),
  };
}

const SLOTS_PER_BLOCK = 256;
const BLOCK_BYTES = SLOTS_PER_BLOCK * RECENT_VALUE_BYTES_MAX;

/** Memory for one value each; it grows by blocks, as slots are used. */
function openSlots() {
  const blocks: Uint8Array[] = [];
  const lengths: number[] = [];
  const freed: number[] = [];

  function take(): number {
    const slot = freed.pop() ?? lengths.push(0) - 1;
    if (slot === blocks.length * SLOTS_PER_BLOCK) blocks.push(new Uint8Array(BLOCK_BYTES));
    return slot;
  }

  function partOf(slot: number, length: number): Uint8Array {
    const from = (slot % SLOTS_PER_BLOCK) * RECENT_VALUE_BYTES_MAX;
    return blocks[Math.floor(slot / SLOTS_PER_BLOCK)]!.subarray(from, from + length);
  }

  function write(slot: number, value: Bytes): void {
    partOf(slot, value.length).set(value);
    lengths[slot] = value.length;
  }

  function read(slot: number): Bytes {
    const copy = newBytes(lengths[slot]!);
    copy.set(partOf(slot, copy.length));
    return copy;
  }

  return { take, write, read, free: (slot: number) => void freed.push(slot) };
}
