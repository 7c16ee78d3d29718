/** A group leaves the store as its transactions would, and sets each key once. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { bytesOf, textOf, type TextRange } from "../../../src/kv/byte_text.ts";
import { applyGroup } from "../../../src/kv/sqlite/group_change.ts";
import { hashOf } from "../../../src/kv/key_map.ts";
import type { StoreChange } from "../../../src/kv/sqlite/change.ts";
import * as own from "../../../src/kv/transaction/buffered_transaction.ts";

type Pairs = Map<string, string>;
type Doing = (buffer: own.WriteBuffer) => void;

const anyText = fc.constantFrom("a", "b", "c", "d", "e");
const anyDoing: fc.Arbitrary<Doing> = fc.oneof(
  fc.tuple(anyText, fc.bigInt(0n, 9n)).map(([text, value]): Doing => (buffer) =>
    own.putWrite(buffer, bytesOf(text), own.addToCounter(undefined, value))
  ),
  anyText.map((text): Doing => (buffer) => own.putWrite(buffer, bytesOf(text), undefined)),
  fc.tuple(anyText, fc.bigInt(-9n, 9n)).map(([text, delta]): Doing => (buffer) =>
    own.addWrite(buffer, bytesOf(text), delta)
  ),
  fc.tuple(anyText, anyText).map(([begin, end]): Doing => (buffer) =>
    own.clearWrites(buffer, { begin, end })
  ),
);

/** Applies changes to pairs as SQLite would, and checks the way they arrive. */
function changing(pairs: Pairs, told: Pairs): StoreChange {
  return {
    get(key) {
      const hex = pairs.get(textOf(key));
      return hex === undefined ? undefined : Uint8Array.fromHex(hex);
    },
    clear: (key) => void pairs.delete(textOf(key)),
    clearRange({ begin, end }: TextRange) {
      for (const text of pairs.keys()) if (begin <= text && text < end) pairs.delete(text);
      told.clear();
    },
    setAll(all) {
      const keys = all.filter((_, index) => index % 2 === 0).map((key) => textOf(key));
      assert.deepEqual(keys, [...new Set(keys)].sort());
      keys.forEach((text, index) => pairs.set(text, all[2 * index + 1]!.toHex()));
    },
    note(key, hash, value) {
      assert.equal(hash, hashOf(key));
      told.set(textOf(key), value?.toHex() ?? "");
    },
  };
}

/** What one transaction leaves, by the meaning of its buffer. */
function applyAlone(pairs: Pairs, buffer: own.WriteBuffer): void {
  for (const { begin, end } of buffer.cleared) {
    for (const text of pairs.keys()) if (begin <= text && text < end) pairs.delete(text);
  }
  for (const { key, value, delta } of buffer.writes.entries) {
    const text = textOf(key);
    const before = pairs.get(text);
    const base = before === undefined ? undefined : Uint8Array.fromHex(before);
    const after = delta === undefined ? value : own.addToCounter(base, delta);
    if (after === undefined) pairs.delete(text);
    else pairs.set(text, after.toHex());
  }
}

Deno.test("a group leaves what its members leave one after the other, each key written in order", () => {
  const anyMember = fc.array(anyDoing, { maxLength: 8 });
  fc.assert(
    fc.property(
      anyMember,
      fc.array(anyMember, { minLength: 1, maxLength: 4 }),
      (first, members) => {
        const stored: Pairs = new Map();
        const buffers = [first, ...members].map((member) => {
          const buffer = own.emptyWriteBuffer();
          for (const each of member) each(buffer);
          return buffer;
        });
        // The first buffer alone makes the initial store.
        applyGroup(changing(stored, new Map()), buffers.slice(0, 1));
        const expected: Pairs = new Map();
        applyAlone(expected, buffers[0]!);
        assert.deepEqual(new Map([...stored].sort()), new Map([...expected].sort()));
        const told: Pairs = new Map();
        applyGroup(changing(stored, told), buffers.slice(1));
        for (const buffer of buffers.slice(1)) applyAlone(expected, buffer);
        assert.deepEqual(new Map([...stored].sort()), new Map([...expected].sort()));
        for (const [text, hex] of told) assert.equal(stored.get(text) ?? "", hex);
      },
    ),
    { numRuns: 1000 },
  );
});
