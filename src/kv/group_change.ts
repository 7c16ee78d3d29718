/**
 * The writes of all transactions of a commit group, one after the other, as one change of the
 * store: what a later one overwrites is never written, and additions meet the value they add to.
 */

import type { Bytes } from "./engine.ts";
import { compareKeys } from "./key_bytes.ts";
import { KeyMap } from "./key_map.ts";
import type { StoreChange } from "./sqlite_change.ts";
import { addToCounter, type Write, type WriteBuffer } from "./write_buffer.ts";

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

/** The write with its addition done, if it is one, on what the group made of the key before. */
function summed(change: StoreChange, write: Write, before: Write | undefined): Write {
  const { key, hash, delta } = write;
  if (delta === undefined) return write;
  const base = before === undefined ? change.get(key, hash) : before.value;
  return { key, hash, value: addToCounter(base, delta), delta: undefined };
}

/** Writes the last word on each key. */
function putNet(change: StoreChange, net: readonly Write[]): void {
  if (net.length === 0) return;
  const pairs: Bytes[] = [];
  // Neighbours in the tree one after the other: the same pages are found again in the cache.
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
