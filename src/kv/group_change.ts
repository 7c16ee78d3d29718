/**
 * The writes of all transactions of a commit group, one after the other, as one change of the
 * store: what a later one overwrites is never written, and additions meet the value they add to.
 */

import type { Bytes } from "./engine.ts";
import type { StoreChange } from "./sqlite_file.ts";
import { addToCounter, type WriteBuffer } from "./write_buffer.ts";

/** Pairs by the text of their key; a removal has no value. */
type Net = Map<string, { readonly key: Bytes; readonly value: Bytes | undefined }>;

/** Applies buffers in commit order. Their stamped writes must have become plain ones before. */
export function applyGroup(change: StoreChange, buffers: Iterable<WriteBuffer>): void {
  const net: Net = new Map();
  for (const buffer of buffers) {
    for (const range of buffer.cleared) {
      putNet(change, net);
      change.clearRange(range);
    }
    for (const [text, { key, value, delta }] of buffer.writes) {
      if (delta === undefined) {
        net.set(text, { key, value });
        continue;
      }
      const before = net.get(text);
      const base = before === undefined ? change.get(key, text) : before.value;
      net.set(text, { key, value: addToCounter(base, delta) });
    }
  }
  putNet(change, net);
}

function putNet(change: StoreChange, net: Net): void {
  if (net.size === 0) return;
  const pairs: Bytes[] = [];
  // Neighbours in the tree one after the other: the same pages are found again in the cache.
  for (const text of [...net.keys()].sort()) {
    const { key, value } = net.get(text)!;
    change.note(text, value);
    if (value === undefined) change.clear(key);
    else pairs.push(key, value);
  }
  change.setAll(pairs);
  net.clear();
}
