/** A cached value is always the last one, whatever else was cached, changed and forgotten. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { bytesOf } from "../../../src/kv/byte_text.ts";
import type { Bytes } from "../../../src/kv/engine.ts";
import { hashOf } from "../../../src/kv/key_map.ts";
import {
  openRecentValues,
  RECENT_SLOT_BYTES,
  RECENT_VALUE_BYTES_MAX,
  RECENT_VALUES_MAX,
} from "../../../src/kv/sqlite/recent_values.ts";

/** A value whose mark distinguishes it from others of its length. */
function valueOf(length: number, mark: number): Bytes {
  return new Uint8Array(length).fill(mark);
}

/** The last keys leave little or no room for a value. */
const anyKey = fc.constantFrom(
  ...["a", "b", "c", "d", "", "e".repeat(200), "f".repeat(RECENT_SLOT_BYTES), "g".repeat(9_000)],
);
const anyValue = fc.tuple(
  fc.constantFrom(0, 1, 63, 300, RECENT_VALUE_BYTES_MAX, RECENT_VALUE_BYTES_MAX + 1),
  fc.nat(255),
).map(([length, mark]) => valueOf(length, mark));
const anyStep = fc.oneof(
  fc.record({ does: fc.constant("keep" as const), key: anyKey, value: anyValue }),
  fc.record({
    does: fc.constant("change" as const),
    key: anyKey,
    value: fc.option(anyValue, { nil: undefined }),
  }),
  fc.record({ does: fc.constant("get" as const), key: anyKey }),
  fc.record({ does: fc.constant("forgetAll" as const) }),
);

type Step = typeof anyStep extends fc.Arbitrary<infer T> ? T : never;

/** The cache over a store in which only the value that is to be kept can be read. */
function openRecent() {
  let stored: Bytes | undefined;
  const { get, change, forgetAll } = openRecentValues(() => stored);

  function keep(key: Bytes, hash: number, value: Bytes | undefined): Bytes | undefined {
    stored = value;
    const read = get(key, hash);
    stored = undefined;
    return read;
  }

  return { get, keep, change, forgetAll };
}

/**
 * Runs the steps beside a model that forgets nothing.
 * @param mayMiss whether a key may be forgotten in favour of another with its hash.
 */
function follow(steps: readonly Step[], hashed: (key: Bytes) => number, mayMiss: boolean): void {
  const recent = openRecent();
  const kept = new Map<string, Bytes>();
  const given: { readonly value: Bytes | undefined; readonly then: string | undefined }[] = [];
  for (const step of steps) {
    if (step.does === "forgetAll") {
      recent.forgetAll();
      kept.clear();
      continue;
    }
    const key = bytesOf(step.key);
    const hash = hashed(key);
    const found = recent.get(key, hash);
    if (!mayMiss || found !== undefined) assert.deepEqual(found, kept.get(step.key));
    given.push({ value: found, then: found?.toHex() });
    // What is cached is not read from the store.
    if (step.does === "get" || (step.does === "keep" && found !== undefined)) continue;
    const { value } = step;
    const isSmall = value !== undefined && value.length <= RECENT_VALUE_BYTES_MAX &&
      key.length + value.length <= RECENT_SLOT_BYTES;
    if (step.does === "keep") assert.equal(recent.keep(key, hash, value), value);
    else recent.change(key, hash, value);
    // A change of a key that nobody has read is not kept; neither is a large value.
    if (isSmall && (step.does === "keep" || found !== undefined)) kept.set(step.key, value);
    else if (step.does === "change") kept.delete(step.key);
    // A kept value can be read at once.
    if (isSmall && step.does === "keep") assert.deepEqual(recent.get(key, hash), value);
  }
  for (const { value, then } of given) assert.equal(value?.toHex(), then);
}

Deno.test("what is kept of a key is its last value, and what was given out never changes", () => {
  fc.assert(fc.property(fc.array(anyStep, { maxLength: 60 }), (steps) => {
    follow(steps, hashOf, false);
  }));
});

Deno.test("what is removed, or becomes too large to be kept, is not read any more", () => {
  for (const after of [undefined, valueOf(RECENT_VALUE_BYTES_MAX + 1, 8)]) {
    const recent = openRecent();
    const key = bytesOf("a");
    recent.keep(key, 1, valueOf(3, 7));
    assert.deepEqual(recent.get(key, 1), valueOf(3, 7));
    recent.change(key, 1, after);
    assert.equal(recent.get(key, 1), undefined);
  }
});

Deno.test("a key of any length that is kept leaves the values beside it as they are", () => {
  for (const length of [1, 128, 129, 1_000, RECENT_SLOT_BYTES]) {
    const recent = openRecent();
    const value = valueOf(RECENT_VALUE_BYTES_MAX, 7);
    recent.keep(bytesOf("k".repeat(length)), 1, value);
    recent.keep(bytesOf("a"), 2, valueOf(3, 8));
    recent.keep(bytesOf("b".repeat(length)), 3, value);
    assert.deepEqual(recent.get(bytesOf("a"), 2), valueOf(3, 8), `${length}`);
  }
});

Deno.test("of keys with the same hash one is kept, and none is taken for another", () => {
  fc.assert(fc.property(fc.array(anyStep, { maxLength: 60 }), (steps) => {
    follow(steps, () => 7, true);
    follow(steps, (key) => key.length & 1, true);
  }));
});

Deno.test("when all is full the one that was used longest ago goes, and each has its own bytes", () => {
  const recent = openRecent();
  const valueAt = (index: number) => new TextEncoder().encode(`value ${index}`);
  const at = (index: number) => {
    const key = bytesOf(String(index));
    return [key, hashOf(key)] as const;
  };
  for (let index = 0; index < RECENT_VALUES_MAX; index++) recent.keep(...at(index), valueAt(index));
  recent.get(...at(0));
  for (let index = RECENT_VALUES_MAX; index < RECENT_VALUES_MAX + 500; index++) {
    recent.keep(...at(index), valueAt(index));
  }
  const isThere = (index: number) => index === 0 || index > 500;
  for (let index = 0; index < RECENT_VALUES_MAX + 500; index++) {
    const value = recent.get(...at(index));
    assert.deepEqual(value, isThere(index) ? valueAt(index) : undefined, String(index));
  }
});
