/**
 * Maps and sets of texts that clients choose: ids of streams, names in a spec, words of a query.
 *
 * They do what `Map` and `Set` do, in the same order, with a hash that clients cannot foresee
 * (`text_hash.ts`). So no choice of texts makes them slow. Use them wherever a client can bring
 * more than some hundreds of different texts together; for fewer, `Map` and `Set` are as good.
 */

import { hashText, TEXT_HASH_BITS } from "./text_hash.ts";

/** This few texts are found faster by looking through all of them than by a table. */
const LISTED_MAX = 8;
const FIRST_SLOT_BITS = 5;

/** A `Set` or a {@link TextSet}, to be asked only. */
export type Texts<T extends string = string> = Pick<ReadonlySet<T>, "has" | "size"> & Iterable<T>;

interface Entry<V, T> {
  readonly text: T;
  /** 0 while the entries are few. */
  hash: number;
  value: V;
}

/**
 * A table with open addressing leads from the hash of a text to the place of its entry; its slots
 * are places + 1, or 0. A deleted entry leaves its place empty until the table is made anew.
 */
export class TextMap<V, T extends string = string> implements ReadonlyMap<T, V> {
  /** In the order in which their texts were added. */
  #entries: (Entry<V, T> | undefined)[] = [];
  #size = 0;
  /** The place of the first of them. */
  #first = 0;
  #slots: number[] = [];
  #slotBits = 0;

  constructor(entries: Iterable<readonly [T, V]> = []) {
    for (const [text, value] of entries) this.set(text, value);
  }

  get size(): number {
    return this.#size;
  }

  has(text: T): boolean {
    return this.#placeOf(text, this.#hashOf(text)) >= 0;
  }

  get(text: T): V | undefined {
    return this.#entries[this.#placeOf(text, this.#hashOf(text))]?.value;
  }

  set(text: T, value: V): this {
    const hash = this.#hashOf(text);
    const place = this.#placeOf(text, hash);
    if (place >= 0) this.#entries[place]!.value = value;
    else this.#add({ text, hash, value });
    return this;
  }

  delete(text: T): boolean {
    const place = this.#placeOf(text, this.#hashOf(text));
    if (place < 0) return false;
    this.#entries[place] = undefined;
    this.#size--;
    if (this.#size === 0) this.clear();
    else while (this.#entries[this.#first] === undefined) this.#first++;
    return true;
  }

  clear(): void {
    this.#entries = [];
    this.#size = 0;
    this.#first = 0;
    this.#slots = [];
    this.#slotBits = 0;
  }

  *keys(): Generator<T, undefined> {
    for (const [text] of this) yield text;
  }

  *values(): Generator<V, undefined> {
    for (const [, value] of this) yield value;
  }

  entries(): Generator<[T, V], undefined> {
    return this[Symbol.iterator]();
  }

  *[Symbol.iterator](): Generator<[T, V], undefined> {
    for (let place = this.#first; place < this.#entries.length; place++) {
      const entry = this.#entries[place];
      if (entry !== undefined) yield [entry.text, entry.value];
    }
  }

  forEach(call: (value: V, text: T, map: TextMap<V, T>) => void): void {
    for (const [text, value] of this) call(value, text, this);
  }

  #hashOf(text: T): number {
    return this.#slotBits === 0 ? 0 : hashText(text);
  }

  /** -1 if the text is not there. */
  #placeOf(text: T, hash: number): number {
    const entries = this.#entries;
    if (this.#slotBits === 0) {
      for (let place = 0; place < entries.length; place++) {
        if (entries[place]?.text === text) return place;
      }
      return -1;
    }
    const slots = this.#slots;
    for (let at = this.#firstSlot(hash);; at = (at + 1) & (slots.length - 1)) {
      const place = slots[at]! - 1;
      if (place < 0) return -1;
      const entry = entries[place];
      if (entry?.hash === hash && entry.text === text) return place;
    }
  }

  #add(entry: Entry<V, T>): void {
    const count = this.#entries.push(entry);
    this.#size++;
    if (this.#slotBits > 0 && 2 * count <= this.#slots.length) this.#fill(count - 1);
    else if (count > LISTED_MAX) this.#rebuild();
  }

  /** Without the places of deleted entries, and with room for as many again as there are. */
  #rebuild(): void {
    const isFirst = this.#slotBits === 0;
    this.#slotBits = FIRST_SLOT_BITS;
    while (4 * this.#size > 1 << this.#slotBits) this.#slotBits++;
    this.#slots = new Array(1 << this.#slotBits).fill(0);
    this.#entries = this.#entries.filter((entry) => entry !== undefined);
    this.#first = 0;
    for (let place = 0; place < this.#entries.length; place++) {
      const entry = this.#entries[place]!;
      if (isFirst) entry.hash = hashText(entry.text);
      this.#fill(place);
    }
  }

  #fill(place: number): void {
    const slots = this.#slots;
    let at = this.#firstSlot(this.#entries[place]!.hash);
    while (slots[at] !== 0) at = (at + 1) & (slots.length - 1);
    slots[at] = place + 1;
  }

  #firstSlot(hash: number): number {
    return hash >>> (TEXT_HASH_BITS - this.#slotBits);
  }
}

export class TextSet<T extends string = string> {
  readonly #texts = new TextMap<true, T>();

  constructor(texts: Iterable<T> = []) {
    for (const text of texts) this.add(text);
  }

  get size(): number {
    return this.#texts.size;
  }

  has(text: T): boolean {
    return this.#texts.has(text);
  }

  add(text: T): this {
    this.#texts.set(text, true);
    return this;
  }

  delete(text: T): boolean {
    return this.#texts.delete(text);
  }

  clear(): void {
    this.#texts.clear();
  }

  keys(): Generator<T, undefined> {
    return this.#texts.keys();
  }

  [Symbol.iterator](): Generator<T, undefined> {
    return this.keys();
  }
}
