/**
 * Compares, orders and hashes keys by their bytes, and maps them by their bytes. As text, each key
 * would become a string that is new to the runtime, and a Map looks such a string up in a table of
 * all existing strings before it looks into itself. Hashing the bytes here is many times cheaper.
 * Text remains in use where it is rare: ends of ranges, conflicts, watches.
 *
 * Callers pass the hash along with the key, so it is computed once for all the places a key
 * passes through: own writes, the commit group, recent values. What that gives is measured in
 * docs/internals/optimisations.md.
 */

import { textOf, type TextRange } from "./byte_text.ts";
import { type Bytes, kvLimits } from "./engine.ts";
import { viewOf } from "./slab.ts";

/** A collection that can be asked whether it has a key. */
export interface KnownKeys {
  has(key: Bytes, hash: number): boolean;
}

/** This few keys are found faster by looking through all of them than by a table. */
const listedMax = 8;
const firstSlotBits = 5;

/**
 * One entry for each key, in the order in which the keys were added. The arrays of the keys are
 * kept as given, not copied. A table with open addressing leads from the hash of a key to its
 * place in that order; its slots are places + 1, or 0.
 */
export class KeyMap<Entry extends Keyed> implements KnownKeys {
  #entries: Entry[] = [];
  /** In the order in which their keys were added. */
  entries: readonly Entry[] = this.#entries;
  #slots: number[] = [];
  #slotBits = 0;

  get size(): number {
    return this.#entries.length;
  }

  has(key: Bytes, hash: number): boolean {
    return this.#placeOf(key, hash) >= 0;
  }

  get(key: Bytes, hash: number): Entry | undefined {
    const place = this.#placeOf(key, hash);
    return place < 0 ? undefined : this.#entries[place];
  }

  /** Replaces the entry with the same key, if there is one, in its place. */
  put(entry: Entry): void {
    const place = this.#placeOf(entry.key, entry.hash);
    if (place >= 0) {
      this.#entries[place] = entry;
      return;
    }
    const count = this.#entries.push(entry);
    if (count <= listedMax) return;
    if (2 * count > this.#slots.length) this.#grow();
    else this.#fill(count - 1);
  }

  /** Entries behind a removed one change their places. */
  removeWhere(isRemoved: (entry: Entry) => boolean): void {
    const kept = this.#entries.filter((entry) => !isRemoved(entry));
    if (kept.length === this.#entries.length) return;
    this.entries = this.#entries = [];
    this.#slots = [];
    this.#slotBits = 0;
    for (const entry of kept) this.put(entry);
  }

  /** -1 if the key is not there. */
  #placeOf(key: Bytes, hash: number): number {
    const entries = this.#entries;
    if (this.#slotBits === 0) {
      for (let place = 0; place < entries.length; place++) {
        const entry = entries[place]!;
        if (entry.hash === hash && isSameKey(entry.key, key)) return place;
      }
      return -1;
    }
    const slots = this.#slots;
    for (let at = this.#firstSlot(hash);; at = (at + 1) & (slots.length - 1)) {
      const place = slots[at]! - 1;
      if (place < 0) return -1;
      const entry = entries[place]!;
      if (entry.hash === hash && isSameKey(entry.key, key)) return place;
    }
  }

  #grow(): void {
    this.#slotBits = Math.max(firstSlotBits, this.#slotBits + 2);
    this.#slots = new Array(1 << this.#slotBits).fill(0);
    for (let place = 0; place < this.#entries.length; place++) this.#fill(place);
  }

  #fill(place: number): void {
    const slots = this.#slots;
    let at = this.#firstSlot(this.#entries[place]!.hash);
    while (slots[at] !== 0) at = (at + 1) & (slots.length - 1);
    slots[at] = place + 1;
  }

  #firstSlot(hash: number): number {
    return hash >>> (HASH_BITS - this.#slotBits);
  }
}

/**
 * Keys alone, as texts. For keys that are kept longer than the arrays they came in, each of
 * which may be a piece of something large.
 */
export class KeySet implements KnownKeys {
  /** By their hashes, which clients cannot foresee. */
  readonly #texts = new Map<number, string>();
  /** Those whose hash another one has. */
  readonly #others = new Set<string>();

  get size(): number {
    return this.#texts.size + this.#others.size;
  }

  add({ key, hash }: Keyed): void {
    const text = textOf(key);
    const known = this.#texts.get(hash);
    if (known === undefined) this.#texts.set(hash, text);
    else if (known !== text) this.#others.add(text);
  }

  has(key: Bytes, hash: number): boolean {
    const known = this.#texts.get(hash);
    if (known === undefined) return false;
    const text = textOf(key);
    return known === text || this.#others.has(text);
  }

  /** The keys as text, sorted. */
  sortedTexts(): string[] {
    return [...this.#texts.values(), ...this.#others].sort();
  }
}

/** Something that can be found by its key. The hash is computed once and travels with the key. */
export interface Keyed {
  readonly key: Bytes;
  /** The result of {@link hashOf} for the key. */
  readonly hash: number;
}

/** Few enough bits for a small integer of the runtime, which needs no allocation. */
export const HASH_BITS = 30;

/**
 * A factor for each position in a key, and for its length. Clients choose parts of keys (ids of
 * streams, idempotency keys), and could choose many keys with one hash if they knew these
 * factors. So a process draws them when it opens its engine: any two keys then share a hash with
 * a probability of less than 1 in 10,000,000. A process that opens no engine (tests, tools) has
 * the same factors each time.
 */
const factors = new Int32Array(kvLimits.keyBytesMax + 1);
let isDrawn = false;
for (let i = 0, state = 1; i < factors.length; i++) {
  state = Math.imul(state, 0x915f77f5) + 1;
  factors[i] = state ^ (state >>> 15);
}

/** Draws the factors, once per process: a key that has a hash already must be found by it later. */
export function drawKeyHash(randomBytes: (length: number) => Bytes): void {
  if (isDrawn) return;
  isDrawn = true;
  const random = viewOf(randomBytes(factors.byteLength));
  for (let i = 0; i < factors.length; i++) factors[i] = random.getInt32(4 * i);
}

/** Each position has its own factor, so no product waits for another. */
export function hashOf(key: Bytes): number {
  const { length } = key;
  let sum = factors[length]!;
  for (let i = 0; i < length; i++) sum = (sum + Math.imul(factors[i]!, key[i]!)) | 0;
  // The low bits are weaker: factors that differ only in high bits leave them equal.
  return sum >>> (32 - HASH_BITS);
}

export function isSameKey(a: Bytes, b: Bytes): boolean {
  if (a === b) return true;
  const { length } = a;
  if (length !== b.length) return false;
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** Negative, 0 or positive, as `a` sorts before, the same as or after `b`. */
export function compareKeys(a: Bytes, b: Bytes): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const difference = a[i]! - b[i]!;
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Like {@link compareKeys}, with the right key as text. */
export function compareWithText(key: Bytes, text: string): number {
  const length = Math.min(key.length, text.length);
  for (let i = 0; i < length; i++) {
    const difference = key[i]! - text.charCodeAt(i);
    if (difference !== 0) return difference;
  }
  return key.length - text.length;
}

export function isWithin(key: Bytes, { begin, end }: TextRange): boolean {
  return compareWithText(key, begin) >= 0 && compareWithText(key, end) < 0;
}
