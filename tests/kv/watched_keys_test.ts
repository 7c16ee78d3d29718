/** What is watched is found by what was written, however many entries share a hash. */

import assert from "node:assert/strict";
import { bytesOf } from "../../src/kv/byte_text.ts";
import { hashOf, type Keyed, KeyMap } from "../../src/kv/key_map.ts";
import { openWatchedKeys, type WrittenKeys } from "../../src/kv/watched_keys.ts";

interface Named extends Keyed {
  readonly name: string;
}

function entry(name: string, hash = hashOf(bytesOf(name))): Named {
  return { name, key: bytesOf(name), hash };
}

function written(...entries: readonly Keyed[]): WrittenKeys {
  const keys = new KeyMap<Keyed>();
  for (const one of entries) keys.put(one);
  return { keys, ranges: [] };
}

function names(entries: readonly Named[]): string[] {
  return entries.map(({ name }) => name).sort();
}

Deno.test("touchedBy() finds the entries whose keys were written, and no other", () => {
  const watched = openWatchedKeys<Named>();
  for (const name of ["a", "ab", "b"]) watched.add(entry(name));
  assert.deepEqual(names(watched.touchedBy(written(entry("ab"), entry("abc")))), ["ab"]);
  assert.deepEqual(names(watched.touchedBy(written())), []);
});

Deno.test("touchedBy() tells keys with one hash apart", () => {
  const watched = openWatchedKeys<Named>();
  for (const name of ["a", "b", "c"]) watched.add(entry(name, 7));
  assert.deepEqual(names(watched.touchedBy(written(entry("b", 7), entry("d", 7)))), ["b"]);
});

Deno.test("touchedBy() finds what lies in a cleared range, once even if it was also set", () => {
  const watched = openWatchedKeys<Named>();
  for (const name of ["a", "b", "c", "d"]) watched.add(entry(name));
  const cleared = { ...written(entry("b")), ranges: [{ begin: "b", end: "d" }] };
  assert.deepEqual(names(watched.touchedBy(cleared)), ["b", "c"]);
});

Deno.test("remove() takes one entry away and leaves those with the same hash", () => {
  const watched = openWatchedKeys<Named>();
  const [a, b] = [entry("a", 7), entry("b", 7)];
  watched.add(a);
  watched.add(b);
  watched.remove(a);
  watched.remove(a);
  assert.deepEqual(names(watched.all()), ["b"]);
  assert.deepEqual(names(watched.touchedBy(written(a, b))), ["b"]);
  watched.remove(b);
  assert.deepEqual(watched.all(), []);
});

Deno.test("get() finds an entry by the bytes of its key", () => {
  const watched = openWatchedKeys<Named>();
  watched.add(entry("a"));
  assert.equal(watched.get(bytesOf("a"))?.name, "a");
  assert.equal(watched.get(bytesOf("b")), undefined);
});
