/** The events that a head holds, in their stored form. */

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  decodeTail,
  encodeSegment,
  extendTail,
  NO_TAIL,
  sealTail,
  TAIL_BYTES_MAX,
  TAIL_EVENTS_MAX,
  tailCount,
} from "../../../src/store/streams/stream_head.ts";

/** The bytes of a held event besides its text: see the layouts of tail and segment. */
const EVENT_BYTES = 5 + 4 + 32;

function chained(raw: string, number = 0) {
  const hash = number.toString(16).padStart(64, "0");
  return { raw, bytes: new TextEncoder().encode(raw).length, hash };
}

Deno.test("decodeTail() gives back what extendTail() was given, in any script", () => {
  const raws = fc.array(fc.string({ unit: "grapheme", maxLength: 60 }), {
    maxLength: TAIL_EVENTS_MAX,
  });
  fc.assert(fc.property(raws, (drawn) => {
    const events = drawn.map(chained);
    const tail = events.reduce((before, event) => extendTail(before, event)!, NO_TAIL);
    assert.deepEqual(decodeTail(tail), events);
    assert.equal(tailCount(tail), events.length);
  }));
});

Deno.test("sealTail() makes the segment of its events and those that come behind", () => {
  const raw = fc.string({ unit: "grapheme", maxLength: 60 });
  const held = fc.array(raw, { minLength: 1, maxLength: TAIL_EVENTS_MAX });
  fc.assert(fc.property(held, fc.array(raw, { minLength: 1, maxLength: 9 }), (drawn, more) => {
    const events = [...drawn, ...more].map(chained);
    const tail = events.slice(0, drawn.length).reduce(
      (one, next) => extendTail(one, next)!,
      NO_TAIL,
    );
    const sealed = sealTail(tail, events.slice(drawn.length));
    assert.deepEqual([...sealed], [...encodeSegment(events)]);
  }));
});

Deno.test("extendTail() leaves the tail that it was given as it was", () => {
  const one = extendTail(NO_TAIL, chained("{}"))!;
  const before = [...one];
  extendTail(one, chained("[]", 1));
  assert.deepEqual([...one], before);
});

Deno.test("extendTail() has room for three events", () => {
  let tail = NO_TAIL;
  for (let number = 0; number < 3; number++) tail = extendTail(tail, chained("{}"))!;
  assert.equal(extendTail(tail, chained("{}")), undefined);
});

Deno.test("extendTail() has room for 1,536 bytes, and not for one more", () => {
  const most = "x".repeat(TAIL_BYTES_MAX - 1 - EVENT_BYTES);
  assert.equal(extendTail(NO_TAIL, chained(most))!.length, 1536);
  assert.equal(extendTail(NO_TAIL, chained(`${most}x`)), undefined);
  const half = extendTail(NO_TAIL, chained("x".repeat(500)))!;
  const left = 1536 - half.length - EVENT_BYTES;
  assert.equal(extendTail(half, chained("y".repeat(left)))!.length, 1536);
  assert.equal(extendTail(half, chained("y".repeat(left + 1))), undefined);
});

Deno.test("decodeTail() refuses a tail with another number of events than it says", () => {
  const tail = extendTail(NO_TAIL, chained("{}"))!;
  assert.throws(() => decodeTail(Uint8Array.of(2, ...tail.subarray(1))), { name: "Bug" });
});
