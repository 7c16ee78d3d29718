/** What is kept is what was told last, whatever else was kept, changed and forgotten meanwhile. */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { Bytes } from "../../src/kv/engine.ts";
import {
  openRecentValues,
  RECENT_VALUE_BYTES_MAX,
  RECENT_VALUES_MAX,
} from "../../src/kv/recent_values.ts";

/** A value that tells it from others of its length. */
function valueOf(length: number, mark: number): Bytes {
  return new Uint8Array(length).fill(mark);
}

const anyKey = fc.constantFrom("a", "b", "c", "d");
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

Deno.test("what is kept of a key is its last value, and what was given out never changes", () => {
  fc.assert(fc.property(fc.array(anyStep, { maxLength: 60 }), (steps) => {
    const recent = openRecentValues();
    const kept = new Map<string, Bytes>();
    const given: { readonly value: Bytes | undefined; readonly then: string | undefined }[] = [];
    for (const step of steps) {
      if (step.does === "forgetAll") {
        recent.forgetAll();
        kept.clear();
        continue;
      }
      const { does, key } = step;
      if (does === "get") {
        const value = recent.get(key);
        assert.deepEqual(value, kept.get(key));
        given.push({ value, then: value?.toHex() });
        continue;
      }
      const { value } = step;
      const isSmall = value !== undefined && value.length <= RECENT_VALUE_BYTES_MAX;
      if (does === "keep") assert.equal(recent.keep(key, value), value);
      else recent.change(key, value);
      // A change of what nobody has read is not kept; a large value is not kept either.
      if (isSmall && (does === "keep" || kept.has(key))) kept.set(key, value);
      else if (does === "change") kept.delete(key);
    }
    for (const { value, then } of given) assert.equal(value?.toHex(), then);
  }));
});

Deno.test("when all is full the one that was used longest ago goes, and each has its own bytes", () => {
  const recent = openRecentValues();
  const valueAt = (index: number) => new TextEncoder().encode(`value ${index}`);
  for (let index = 0; index < RECENT_VALUES_MAX; index++) {
    recent.keep(String(index), valueAt(index));
  }
  recent.get("0");
  for (let index = RECENT_VALUES_MAX; index < RECENT_VALUES_MAX + 500; index++) {
    recent.keep(String(index), valueAt(index));
  }
  const isThere = (index: number) => index === 0 || index > 500;
  for (let index = 0; index < RECENT_VALUES_MAX + 500; index++) {
    const value = recent.get(String(index));
    assert.deepEqual(value, isThere(index) ? valueAt(index) : undefined, String(index));
  }
});
