/**
 * Turns the writes of all transactions of a commit group into one change of the store. They
 * apply one after the other: a value that a later one overwrites is never written, and an
 * addition is made to the value before it.
 */

import type { Bytes } from "../engine.ts";
import { compareKeys, KeyMap } from "../key_map.ts";
import type { StoreChange } from "./change.ts";
import { addToCounter, type Write, type WriteBuffer } from "../transaction/buffered_transaction.ts";

/** Applies buffers in commit order. Their stamped writes must have become plain ones before. */
export function applyGroup(change: StoreChange, buffers: readonly WriteBuffer[]): void {
  const [only] = buffers;
  if (buffers.length === 1) {
    for (const range of only!.cleared) change.clearRange(range);
    putNet(change, only!.writes.entries.map((write) => summed(change, write, undefined)));
    return;
  }
  let net = new KeyMap<Write>();
  for (const { cleared, writes } of buffers) {
    for (const range of cleared) {
      putNet(change, net.entries);
      net = new KeyMap();
      change.clearRange(range);
    }
    for (const write of writes.entries) {
      net.put(summed(change, write, net.get(write.key, write.hash)));
    }
  }
  putNet(change, net.entries);
}

/**
 * Resolves an addition against what the group wrote to the key before, or else the stored value.
 */
function summed(change: StoreChange, write: Write, before: Write | undefined): Write {
  const { key, hash, delta } = write;
  if (delta === undefined) return write;
  const base = before === undefined ? change.get(key, hash) : before.value;
  return { key, hash, value: addToCounter(base, delta), delta: undefined };
}

/** Writes the final value of each key. */
function putNet(change: StoreChange, net: readonly Write[]): void {
  if (net.length === 0) return;
  const pairs: Bytes[] = [];
  // Keys in order are neighbours in the tree, so the same pages are found in the cache again.
  for (const { key, hash, value } of net.toSorted(inOrder)) {
    change.note(key, hash, value);
    if (value === undefined) change.clear(key);
    else pairs.push(key, value);
  }
  change.setAll(pairs);
}

function inOrder(a: Write, b: Write): number {
  return compareKeys(a.key, b.key);
}
