/** The packed form of consecutive events. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { type ChainedEvent, decodeSegment, encodeSegment } from "../../src/store/segment.ts";

function chained(raw: string): ChainedEvent {
  return { raw, bytes: new TextEncoder().encode(raw).length, hash: "ab".repeat(32) };
}

Deno.test("decodeSegment() gives back what encodeSegment() was given, in any script", () => {
  const texts = fc.array(fc.string({ unit: "grapheme" }), { minLength: 1, maxLength: 20 });
  fc.assert(fc.property(texts, (raws) => {
    const events = raws.map(chained);
    assert.deepEqual(decodeSegment(encodeSegment(events)), events);
  }));
});

Deno.test("encodeSegment() adds 36 bytes for each event and 5 in all", () => {
  assert.equal(encodeSegment([chained("{}")]).length, 5 + 36 + 2);
  assert.equal(encodeSegment([chained("{}"), chained("[1]")]).length, 5 + 72 + 5);
});

Deno.test("decodeSegment() refuses bytes of another format", () => {
  const segment = encodeSegment([chained("{}")]);
  segment[0] = 9;
  assert.throws(() => decodeSegment(segment), { name: "Bug" });
});
