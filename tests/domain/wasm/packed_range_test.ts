/** Where a module says its output is: two numbers of 32 bits in one of 64. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { isWithinMemory, unpackRange } from "../../../src/domain/wasm/packed_range.ts";

Deno.test("unpackRange() is the inverse of packing two numbers without a sign", () => {
  const number = fc.integer({ min: 0, max: 2 ** 32 - 1 });
  fc.assert(fc.property(number, number, (pointer, length) => {
    const view = new DataView(new ArrayBuffer(8));
    view.setUint32(0, pointer);
    view.setUint32(4, length);
    // The engine returns a signed i64.
    assert.deepEqual(unpackRange(view.getBigInt64(0)), { pointer, length });
    assert.deepEqual(unpackRange(view.getBigUint64(0)), { pointer, length });
  }));
});

Deno.test("unpackRange() takes a negative length for a huge one", () => {
  assert.deepEqual(unpackRange(-1n), { pointer: 4294967295, length: 4294967295 });
  assert.deepEqual(unpackRange(0x0000_0010_ffff_fff0n), { pointer: 16, length: 4294967280 });
});

Deno.test("isWithinMemory() holds to the last byte, and for nothing at its end", () => {
  const cases = [[0, 0], [0, 65536], [65535, 1], [65536, 0], [0, 65537], [65536, 1], [65537, 0]];
  const answers = cases.map(([pointer, length]) =>
    isWithinMemory({ pointer: pointer!, length: length! }, 65536)
  );
  assert.deepEqual(answers, [true, true, true, true, false, false, false]);
  assert(!isWithinMemory(unpackRange(-1n), 64 * 1024 * 1024));
});
