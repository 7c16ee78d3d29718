/** The packed form of consecutive events. */

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  type ChainedEvent,
  decodeSegment,
  encodeSegment,
  joinSegments,
  segmentBytes,
} from "../../../src/store/streams/stream_head.ts";

function chained(raw: string, number = 0): ChainedEvent {
  const hash = number.toString(16).padStart(64, "ab");
  return { raw, bytes: new TextEncoder().encode(raw).length, hash };
}

const texts = fc.array(fc.string({ unit: "grapheme" }), { minLength: 1, maxLength: 20 });

Deno.test("decodeSegment() gives back what encodeSegment() was given, in any script", () => {
  fc.assert(fc.property(texts, (raws) => {
    const events = raws.map(chained);
    assert.deepEqual(decodeSegment(encodeSegment(events)), events);
  }));
});

Deno.test("segmentBytes() tells how long a segment is", () => {
  fc.assert(fc.property(texts, (raws) => {
    const events = raws.map(chained);
    assert.equal(segmentBytes(events), encodeSegment(events).length);
  }));
});

Deno.test("joinSegments() makes of several segments the one that has all their events", () => {
  fc.assert(fc.property(fc.array(texts, { minLength: 1, maxLength: 6 }), (parts) => {
    let number = 0;
    const segments = parts.map((raws) => raws.map((raw) => chained(raw, number++)));
    const joined = joinSegments(segments.map(encodeSegment));
    assert.deepEqual([...joined], [...encodeSegment(segments.flat())]);
  }));
});

Deno.test("joinSegments() refuses bytes of another format", () => {
  const segment = encodeSegment([chained("{}")]);
  assert.throws(() => joinSegments([segment, Uint8Array.of(9, ...segment.subarray(1))]), {
    name: "Bug",
  });
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
