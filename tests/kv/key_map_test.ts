/** Maps and sets of keys behave like a Map of their texts, even if keys share their hashes. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { textOf } from "../../src/kv/byte_text.ts";
import type { Bytes } from "../../src/kv/engine.ts";
import { HASH_BITS, hashOf, type Keyed, KeyMap, KeySet } from "../../src/kv/key_map.ts";
import { newBytes } from "../../src/kv/slab.ts";

interface Numbered extends Keyed {
  readonly number: number;
}

/** From all different to all equal; the last ones collide at the end of a table. */
const HASHES: readonly ((key: Bytes) => number)[] = [
  hashOf,
  (key) => hashOf(key) & 3,
  () => 0,
  () => 2 ** HASH_BITS - 1,
  (key) => 2 ** HASH_BITS - 1 - (hashOf(key) & 3),
];

function pieceOf(list: Iterable<number>): Bytes {
  const bytes = Uint8Array.from(list);
  const piece = newBytes(bytes.length);
  piece.set(bytes);
  return piece;
}

/** Few enough to recur, but more than are listed; the empty key and a long one are among them. */
const anyKey: fc.Arbitrary<Bytes> = fc.oneof(
  fc.array(fc.constantFrom(0, 1, 255), { maxLength: 3 }).map(pieceOf),
  fc.array(fc.nat(255), { maxLength: 40 }).map(pieceOf),
  fc.constantFrom(9_999, 10_000).map((length) => new Uint8Array(length).fill(7)),
);
const anyStep = fc.oneof(
  { weight: 20, arbitrary: fc.record({ does: fc.constant("put" as const), key: anyKey }) },
  { weight: 10, arbitrary: fc.record({ does: fc.constant("get" as const), key: anyKey }) },
  {
    weight: 1,
    arbitrary: fc.record({
      does: fc.constant("remove" as const),
      divisor: fc.integer({ min: 1, max: 5 }),
    }),
  },
);

for (const [index, hash] of HASHES.entries()) {
  Deno.test(`a map of keys is a Map of their texts, in its order (hash ${index})`, () => {
    fc.assert(fc.property(fc.array(anyStep, { maxLength: 200, size: "max" }), (steps) => {
      const map = new KeyMap<Numbered>();
      const model = new Map<string, number>();
      for (const [number, step] of steps.entries()) {
        if (step.does === "remove") {
          map.removeWhere((entry) => entry.number % step.divisor === 0);
          for (const [text, value] of model) if (value % step.divisor === 0) model.delete(text);
        } else if (step.does === "put") {
          map.put({ key: step.key, hash: hash(step.key), number });
          model.set(textOf(step.key), number);
        } else {
          const wanted = model.get(textOf(step.key));
          assert.equal(map.get(step.key, hash(step.key))?.number, wanted);
          assert.equal(map.has(step.key, hash(step.key)), wanted !== undefined);
        }
        assert.equal(map.size, model.size);
      }
      const entries = map.entries.map(({ key, number }) => [textOf(key), number]);
      assert.deepEqual(entries, [...model]);
    }));
  });

  Deno.test(`a set of keys is a Set of their texts, whatever their arrays become (hash ${index})`, () => {
    fc.assert(fc.property(fc.array(anyKey), fc.array(anyKey), (added, asked) => {
      const set = new KeySet();
      const model = new Set<string>();
      for (const key of added) {
        const array = key.slice();
        set.add({ key: array, hash: hash(array) });
        array.fill(0x55);
        model.add(textOf(key));
      }
      for (const key of [...added, ...asked]) {
        assert.equal(set.has(key, hash(key)), model.has(textOf(key)));
      }
      assert.equal(set.size, model.size);
      assert.deepEqual(set.sortedTexts(), [...model].sort());
    }));
  });
}

Deno.test("many keys are all found, and none that is not there", () => {
  const keyAt = (number: number) => pieceOf(new TextEncoder().encode(`key ${number}`));
  const map = new KeyMap<Numbered>();
  const set = new KeySet();
  for (let number = 0; number < 20_000; number++) {
    const key = keyAt(number);
    map.put({ key, hash: hashOf(key), number });
    set.add({ key, hash: hashOf(key) });
  }
  for (let number = 0; number < 40_000; number++) {
    const key = keyAt(number);
    const isThere = number < 20_000;
    assert.equal(map.get(key, hashOf(key))?.number, isThere ? number : undefined);
    assert.equal(set.has(key, hashOf(key)), isThere);
  }
  assert.deepEqual([map.size, set.size], [20_000, 20_000]);
});
