/**
 * Maps and sets of texts that clients choose: ids of streams, names in a spec, words of a query.
 *
 * They do what `Map` and `Set` do, in the same order, and no choice of texts makes them slow. The
 * runtime's own hash of a text can be computed by everybody: its function is known, and for many
 * texts its seed does not count. So a client can choose thousands of texts that fall into one
 * bucket, where each look-up compares all of them; and a look-up in a `Map` or `Set` adds a text to
 * the runtime's table of all names, where they are in one place again. Here the hash has secret
 * factors, one for each place in a text. See
 * docs/decisions/0035-texts-of-clients-are-hashed-with-drawn-factors.md.
 *
 * There are two differences. Whoever walks one of these, and meanwhile deletes and adds, may miss
 * some texts. And each look-up reads the whole text, while the runtime keeps the hash of a text: a
 * few long names that are looked up for each value of some data are better in a `Map`.
 */

/** Characters that are hashed together. A longer text is hashed block by block. */
const BLOCK_CHARACTERS = 256;
/** The two halves of the sum so far are hashed with the next block. */
const LOW = BLOCK_CHARACTERS;
const HIGH = BLOCK_CHARACTERS + 1;
const LENGTH = BLOCK_CHARACTERS + 2;
export const FACTORS = BLOCK_CHARACTERS + 3;

/** Few enough bits for a small integer of the runtime, which needs no allocation. */
export const TEXT_HASH_BITS = 30;

/**
 * A hash of texts with these factors, {@link FACTORS} random integers. Any two texts share the
 * first 17 bits of it with a probability of about 1 in 100,000, however they were chosen, and
 * ordinary ones all of its {@link TEXT_HASH_BITS} with one of 1 in 1,000,000,000.
 */
export function newTextHash(factors: Int32Array): (text: string) => number {
  return function hashText(text) {
    const { length } = text;
    let sum = Math.imul(factors[LENGTH]!, length);
    for (let from = 0; from < length; from += BLOCK_CHARACTERS) {
      const end = Math.min(length - from, BLOCK_CHARACTERS);
      if (from > 0) {
        sum = Math.imul(factors[LOW]!, sum & 0xffff) + Math.imul(factors[HIGH]!, sum >>> 16);
      }
      for (let i = 0; i < end; i++) {
        sum = (sum + Math.imul(factors[i]!, text.charCodeAt(from + i))) | 0;
      }
    }
    // The low bits are weaker: characters that differ only in high bits leave them equal.
    return sum >>> (32 - TEXT_HASH_BITS);
  };
}

/**
 * The hash of this process. Its factors are drawn before anything can be hashed: a text that has a
 * hash must be found by it later.
 */
export const hashText = newTextHash(crypto.getRandomValues(new Int32Array(FACTORS)));

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
  /** Of the text that was looked up last; 0 while the entries are few. */
  #hash = 0;

  constructor(entries: Iterable<readonly [T, V]> = []) {
    for (const [text, value] of entries) this.set(text, value);
  }

  get size(): number {
    return this.#size;
  }

  has(text: T): boolean {
    return this.#placeOf(text) >= 0;
  }

  get(text: T): V | undefined {
    const place = this.#placeOf(text);
    return place < 0 ? undefined : this.#entries[place]!.value;
  }

  set(text: T, value: V): this {
    const place = this.#placeOf(text);
    if (place >= 0) this.#entries[place]!.value = value;
    else this.#add({ text, hash: this.#hash, value });
    return this;
  }

  delete(text: T): boolean {
    const place = this.#placeOf(text);
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
    this.#hash = 0;
  }

  *keys(): Generator<T, undefined> {
    for (let place = this.#first; place < this.#entries.length; place++) {
      const entry = this.#entries[place];
      if (entry !== undefined) yield entry.text;
    }
  }

  *values(): Generator<V, undefined> {
    for (let place = this.#first; place < this.#entries.length; place++) {
      const entry = this.#entries[place];
      if (entry !== undefined) yield entry.value;
    }
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

  /** -1 if the text is not there. Leaves its hash in `#hash`. */
  #placeOf(text: T): number {
    const entries = this.#entries;
    if (this.#slotBits === 0) {
      for (let place = 0; place < entries.length; place++) {
        if (entries[place]?.text === text) return place;
      }
      return -1;
    }
    const slots = this.#slots;
    const hash = this.#hash = hashText(text);
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
