/**
 * Stream keys as parts of store keys, in the order of an instance tree: by UTF-16 code units, while
 * the store has texts in the order of their bytes in UTF-8. They differ where some names of
 * singletons have characters from U+E000 on. Spec: "Merkle trees".
 */

/** Before each character that has two code units, and before each other one from U+E000 on. */
const [FIRST, LAST] = ["\ue000", "\uffff"];
const MOVED = /[\ue000-\uffff\u{10000}-\u{10ffff}]/gu;
const MARKED = /[\ue000\uffff](.)/gsu;

/** A text whose bytes are in the place of `key` in the tree. */
export function inTreeOrder(key: string): string {
  return key.replace(MOVED, (each) => (each.length === 2 ? FIRST : LAST) + each);
}

/** What {@link inTreeOrder} was given. */
export function fromTreeOrder(text: string): string {
  return text.replace(MARKED, "$1");
}
