/**
 * Maps and sets of keys by their bytes; `key_bytes.ts` explains why the runtime's are not used.
 * Callers pass the hash along with the key, so it is computed once for all the places a key
 * passes through: own writes, the commit group, recent values.
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
 * Keys in the order in which they were added; the place of a key is its index in that order. A
 * table with open addressing leads from the hash to the place; its slots are places + 1, or 0.
 */
abstract class KeyPlaces implements KnownKeys {
  #hashes: number[] = [];
  #slots: number[] = [];
  #slotBits = 0;

  get size(): number {
    return this.#hashes.length;
  }

  has(key: Bytes, hash: number): boolean {
    return this.placeOf(key, hash) >= 0;
  }

  // The rest is for the map and the set alone.

  abstract isAt(place: number, key: Bytes): boolean;

  /** -1 if the key is not there. */
  placeOf(key: Bytes, hash: number): number {
    const hashes = this.#hashes;
    if (this.#slotBits === 0) {
      for (let place = 0; place < hashes.length; place++) {
        if (hashes[place] === hash && this.isAt(place, key)) return place;
      }
      return -1;
    }
    const slots = this.#slots;
    for (let at = this.#firstSlot(hash);; at = (at + 1) & (slots.length - 1)) {
      const place = slots[at]! - 1;
      if (place < 0) return -1;
      if (hashes[place] === hash && this.isAt(place, key)) return place;
    }
  }

  /** Gives the next place to a key that has none. */
  addPlace(hash: number): void {
    const count = this.#hashes.push(hash);
    if (count <= listedMax) return;
    if (2 * count > this.#slots.length) this.#grow();
    else this.#fill(count - 1);
  }

  forgetPlaces(): void {
    this.#hashes = [];
    this.#slots = [];
    this.#slotBits = 0;
  }

  #grow(): void {
    this.#slotBits = Math.max(firstSlotBits, this.#slotBits + 2);
    this.#slots = new Array(1 << this.#slotBits).fill(0);
    for (let place = 0; place < this.#hashes.length; place++) this.#fill(place);
  }

  #fill(place: number): void {
    const slots = this.#slots;
    let at = this.#firstSlot(this.#hashes[place]!);
    while (slots[at] !== 0) at = (at + 1) & (slots.length - 1);
    slots[at] = place + 1;
  }

  #firstSlot(hash: number): number {
    return hash >>> (HASH_BITS - this.#slotBits);
  }
}

/** One entry for each key. The arrays of the keys are kept as given, not copied. */
export class KeyMap<Entry extends Keyed> extends KeyPlaces {
  #entries: Entry[] = [];

  /** In the order in which their keys were added. */
  get entries(): readonly Entry[] {
    return this.#entries;
  }

  get(key: Bytes, hash: number): Entry | undefined {
    const place = this.placeOf(key, hash);
    return place < 0 ? undefined : this.#entries[place];
  }

  /** Replaces the entry with the same key, if there is one, in its place. */
  put(entry: Entry): void {
    const place = this.placeOf(entry.key, entry.hash);
    if (place >= 0) {
      this.#entries[place] = entry;
      return;
    }
    this.#entries.push(entry);
    this.addPlace(entry.hash);
  }

  /** Entries behind a removed one change their places. */
  removeWhere(isRemoved: (entry: Entry) => boolean): void {
    const kept = this.#entries.filter((entry) => !isRemoved(entry));
    if (kept.length === this.#entries.length) return;
    this.forgetPlaces();
    this.#entries = kept;
    for (const { hash } of kept) this.addPlace(hash);
  }

  override isAt(place: number, key: Bytes): boolean {
    return isSameKey(this.#entries[place]!.key, key);
  }
}

const firstBytes = 1024;

/**
 * Keys alone, copied one after another into memory of their own. For keys that are kept longer
 * than the arrays they came in, each of which may be a piece of something large.
 */
export class KeySet extends KeyPlaces {
  #bytes = new Uint8Array(0);
  /** Where each key ends in `#bytes`; the next one begins there. */
  readonly #ends: number[] = [];

  add(key: Bytes, hash: number): void {
    if (this.has(key, hash)) return;
    const begin = this.#ends.at(-1) ?? 0;
    const end = begin + key.length;
    if (end > this.#bytes.length) this.#makeRoom(end);
    const bytes = this.#bytes;
    for (let i = 0; i < key.length; i++) bytes[begin + i] = key[i]!;
    this.#ends.push(end);
    this.addPlace(hash);
  }

  /** The keys as text, sorted. */
  sortedTexts(): string[] {
    return this.#ends.map((end, place) => textOf(this.#bytes, this.#beginOf(place), end)).sort();
  }

  override isAt(place: number, key: Bytes): boolean {
    const [begin, bytes] = [this.#beginOf(place), this.#bytes];
    if (this.#ends[place]! - begin !== key.length) return false;
    for (let i = 0; i < key.length; i++) if (bytes[begin + i] !== key[i]) return false;
    return true;
  }

  #beginOf(place: number): number {
    return place === 0 ? 0 : this.#ends[place - 1]!;
  }

  #makeRoom(length: number): void {
    const larger = new Uint8Array(Math.max(firstBytes, 2 * length));
    larger.set(this.#bytes);
    this.#bytes = larger;
  }
}
