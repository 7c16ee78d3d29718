/** Who waits for a change of which key, and who no longer does. */

import assert from "node:assert/strict";
import { bytesOf } from "../../src/kv/byte_text.ts";
import { hashOf, type Keyed, KeyMap } from "../../src/kv/key_map.ts";
import type { WrittenKeys } from "../../src/kv/watched_keys.ts";
import { openWatches } from "../../src/kv/watches.ts";

function written(...texts: string[]): WrittenKeys {
  const keys = new KeyMap<Keyed>();
  for (const text of texts) {
    const key = bytesOf(text);
    keys.put({ key, hash: hashOf(key) });
  }
  return { keys, ranges: [] };
}

/** The state of a watch by now. */
function stateOf(watch: { readonly changed: Promise<boolean> }): Promise<boolean | "waits"> {
  return Promise.race([watch.changed, Promise.resolve("waits" as const)]);
}

Deno.test("a watch hears of its key, and of no other", async () => {
  const watches = openWatches();
  const [a, ab] = [watches.add(bytesOf("a")), watches.add(bytesOf("ab"))];
  watches.notify(written("ab"));
  assert.deepEqual([await stateOf(a), await stateOf(ab)], ["waits", true]);
});

Deno.test("a range that was cleared is told to those with a key in it", async () => {
  const watches = openWatches();
  const all = ["a", "b", "c"].map((text) => watches.add(bytesOf(text)));
  watches.notify({ ...written(), ranges: [{ begin: "b", end: "c" }] });
  assert.deepEqual(await Promise.all(all.map(stateOf)), ["waits", true, "waits"]);
});

Deno.test("who stops to watch hears no more, and others of the same key do", async () => {
  const watches = openWatches();
  const [stopped, other] = [watches.add(bytesOf("a")), watches.add(bytesOf("a"))];
  stopped.cancel();
  watches.notify(written("a"));
  assert.deepEqual([await stateOf(stopped), await stateOf(other)], [false, true]);
});

Deno.test("who stops to watch after a change takes nobody away who watches since", async () => {
  const watches = openWatches();
  const before = watches.add(bytesOf("a"));
  watches.notify(written("a"));
  const since = watches.add(bytesOf("a"));
  before.cancel();
  watches.notify(written("a"));
  assert.deepEqual([await stateOf(before), await stateOf(since)], [true, true]);
});

Deno.test("close() ends every watch, as one that nothing has changed for", async () => {
  const watches = openWatches();
  const all = ["a", "a", "b"].map((text) => watches.add(bytesOf(text)));
  watches.close();
  assert.deepEqual(await Promise.all(all.map(stateOf)), [false, false, false]);
});
