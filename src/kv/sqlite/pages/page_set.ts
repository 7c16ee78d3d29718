/** A set of pages of a database file: a bit for each, so it takes little however large the file. */

export interface PageSet {
  add(page: number): void;
  has(page: number): boolean;
  /** Whether no page up to this one is missing that SQLite may have written. */
  hasAllUpTo(page: number, pageBytes: number): boolean;
  /** The numbers of the pages, in order. */
  numbers(): Uint32Array;
}

const BYTES_AT_FIRST = 1024;
/** SQLite keeps its locks on the page at this offset, and never writes it. */
const LOCK_BYTE = 0x40000000;

export function lockPageOf(pageBytes: number): number {
  return Math.floor(LOCK_BYTE / pageBytes) + 1;
}

export function newPageSet(): PageSet {
  let bits = new Uint8Array(BYTES_AT_FIRST);
  let size = 0;

  function has(page: number): boolean {
    return ((bits[page >>> 3] ?? 0) & (1 << (page & 7))) !== 0;
  }

  return {
    has,
    add(page) {
      if (has(page)) return;
      const at = page >>> 3;
      if (at >= bits.length) {
        const larger = new Uint8Array(Math.max(at + 1, 2 * bits.length));
        larger.set(bits);
        bits = larger;
      }
      bits[at]! |= 1 << (page & 7);
      size++;
    },
    hasAllUpTo(page, pageBytes) {
      const lockPage = lockPageOf(pageBytes);
      for (let each = 1; each <= page; each++) if (!has(each) && each !== lockPage) return false;
      return true;
    },
    numbers() {
      const numbers = new Uint32Array(size);
      let filled = 0;
      for (let at = 0; filled < size; at++) {
        for (let bit = 0; bits[at]! >> bit > 0; bit++) {
          if (has(8 * at + bit)) numbers[filled++] = 8 * at + bit;
        }
      }
      return numbers;
    },
  };
}
