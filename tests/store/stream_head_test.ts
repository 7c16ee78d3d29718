/** The head of a stream in its stored form. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { decodeHead, EMPTY_HEAD, encodeHead } from "../../src/store/stream_head.ts";

Deno.test("decodeHead() gives back every head that encodeHead() was given", () => {
  const count = fc.nat(Number.MAX_SAFE_INTEGER);
  const head = fc.record({
    length: count,
    bytes: count,
    createdAt: count,
    updatedAt: count,
    generation: fc.nat(2 ** 32 - 1),
    tip: fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => bytes.toHex()),
  }, { noNullPrototype: true });
  fc.assert(fc.property(head, (given) => assert.deepEqual(decodeHead(encodeHead(given)), given)));
});

Deno.test("decodeHead() of nothing is the empty head, which is never stored", () => {
  assert.deepEqual(decodeHead(undefined), EMPTY_HEAD);
  assert.throws(() => encodeHead(EMPTY_HEAD), { name: "Bug" });
});

Deno.test("decodeHead() refuses bytes that are no head", () => {
  const stored = encodeHead({ ...EMPTY_HEAD, length: 1, tip: "00".repeat(32) });
  assert.throws(() => decodeHead(stored.slice(1)), { name: "Bug" });
});
