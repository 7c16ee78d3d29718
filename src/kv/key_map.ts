/**
 * Maps and sets of keys by their bytes; `key_bytes.ts` explains why the runtime's are not used.
 * Callers pass the hash along with the key, so it is computed once for all the places a key
 * passes through: own writes, the commit group, recent values. What that gives is measured in
 * docs/internals/optimisations.md.
 */

import { textOf } from "./byte_text.ts";
import type { Bytes } from "./engine.ts";
import { HASH_BITS, isSameKey, type Keyed } from "./key_bytes.ts";

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
  #slots: number[] = [];
  #slotBits = 0;

  get size(): number {
    return this.#entries.length;
  }

  /** In the order in which their keys were added. */
  get entries(): readonly Entry[] {
    return this.#entries;
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
    if (place >= 0) this.#entries[place] = entry;
    else this.#add(entry);
  }

  /** Entries behind a removed one change their places. */
  removeWhere(isRemoved: (entry: Entry) => boolean): void {
    const kept = this.#entries.filter((entry) => !isRemoved(entry));
    if (kept.length === this.#entries.length) return;
    this.#entries = [];
    this.#slots = [];
    this.#slotBits = 0;
    for (const entry of kept) this.#add(entry);
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

  #add(entry: Entry): void {
    const count = this.#entries.push(entry);
    if (count <= listedMax) return;
    if (2 * count > this.#slots.length) this.#grow();
    else this.#fill(count - 1);
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
  readonly #texts = new Set<string>();

  get size(): number {
    return this.#texts.size;
  }

  add(key: Bytes): void {
    this.#texts.add(textOf(key));
  }

  has(key: Bytes): boolean {
    return this.#texts.has(textOf(key));
  }

  /** The keys as text, sorted. */
  sortedTexts(): string[] {
    return [...this.#texts].sort();
  }
}
