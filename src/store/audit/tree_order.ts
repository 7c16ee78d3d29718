/**
 * Converts stream keys to texts that the store sorts in the order of an instance tree. A tree is
 * ordered by UTF-16 code units, the store by UTF-8 bytes. They differ if names of singletons
 * have characters from U+E000 on. See docs/reference/audit.md.
 */

/**
 * The first goes before each character of two code units, the last before others from U+E000 on.
 */
const [FIRST, LAST] = ["\ue000", "\uffff"];
const MOVED = /[\ue000-\uffff\u{10000}-\u{10ffff}]/gu;
const MARKED = /[\ue000\uffff](.)/gsu;

/** A text whose bytes sort where `key` is in the tree. */
export function inTreeOrder(key: string): string {
  return key.replace(MOVED, (each) => (each.length === 2 ? FIRST : LAST) + each);
}

/** The inverse of {@link inTreeOrder}. */
export function fromTreeOrder(text: string): string {
  return text.replace(MARKED, "$1");
}
