/**
 * Knows texts again and counts the different ones, exactly but for a chance of about one in a
 * million: each text is held as 64 bits of a hash, in a table that is open addressed and has a
 * limit.
 */

export interface TextCounter {
  /** False if the text was added before. Beyond the limit all texts are taken for new ones. */
  add(text: string): boolean;
  /** Undefined if there were more than the limit. */
  count(): number | undefined;
}

/** Different texts that are counted at most: tables of 128 MiB. */
export const COUNTED_MAX = 8_000_000;
const SLOTS_MIN = 1 << 12;

export function createTextCounter(max = COUNTED_MAX): TextCounter {
  let table = new Uint32Array(SLOTS_MIN * 2);
  let size = 0;
  let isOver = false;
  let last: string | undefined;

  function insert(into: Uint32Array, high: number, low: number): boolean {
    const mask = into.length / 2 - 1;
    for (let slot = low & mask;; slot = (slot + 1) & mask) {
      const at = slot * 2;
      if (into[at] === 0 && into[at + 1] === 0) {
        into[at] = high;
        into[at + 1] = low;
        return true;
      }
      if (into[at] === high && into[at + 1] === low) return false;
    }
  }

  function grow(): void {
    const larger = new Uint32Array(table.length * 2);
    for (let at = 0; at < table.length; at += 2) {
      if (table[at] !== 0 || table[at + 1] !== 0) insert(larger, table[at]!, table[at + 1]!);
    }
    table = larger;
  }

  return {
    add(text) {
      if (isOver) return true;
      if (text === last) return false;
      last = text;
      const [high, low] = hash64(text);
      if (!insert(table, high, low)) return false;
      if (++size > max) isOver = true;
      else if (size * 4 > table.length) grow();
      return true;
    },
    count: () => isOver ? undefined : size,
  };
}

/** Two independent halves of a hash of the text, of which the second is never 0. */
function hash64(text: string): [number, number] {
  let one = 0xdeadbeef;
  let two = 0x41c6ce57;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    one = Math.imul(one ^ code, 2654435761);
    two = Math.imul(two ^ code, 1597334677);
  }
  one = Math.imul(one ^ (one >>> 16), 2246822507) ^ Math.imul(two ^ (two >>> 13), 3266489909);
  two = Math.imul(two ^ (two >>> 16), 2246822507) ^ Math.imul(one ^ (one >>> 13), 3266489909);
  return [one >>> 0, (two >>> 0) || 1];
}
