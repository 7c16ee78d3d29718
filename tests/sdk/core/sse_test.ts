/** Server-sent events, cut at any byte, with every end of line that the standard allows. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { createSseReader, type Frame } from "../../../sdk/src/core/sse.ts";

const encoder = new TextEncoder();

/** Reads the bytes in pieces that end at the given places. */
function readCut(bytes: Uint8Array, cuts: readonly number[]): Frame[] {
  const reader = createSseReader();
  const places = [...cuts.map((cut) => cut % (bytes.length + 1)), 0, bytes.length]
    .sort((a, b) => a - b);
  return places.flatMap((end, n) => n === 0 ? [] : reader.push(bytes.subarray(places[n - 1], end)));
}

const line = fc.string({ unit: "binary", maxLength: 12 }).map((text) =>
  text.replace(/[\r\n]/g, "")
);
const name = line.filter((text) => text !== "");
const end = fc.constantFrom("\n", "\r\n", "\r");

/** One event as it is sent, and what it is to those who read it. */
const event = fc.record({
  event: fc.option(name, { nil: undefined }),
  id: fc.option(line.map((text) => text.replaceAll("\0", "")), { nil: undefined }),
  data: fc.array(line, { minLength: 1, maxLength: 3 }),
  comment: fc.option(line, { nil: undefined }),
  space: fc.boolean(),
  end,
});

Deno.test("createSseReader() reads what was written, however its bytes are cut", () => {
  const cuts = fc.array(fc.nat(), { maxLength: 12 });
  fc.assert(
    fc.property(fc.array(event, { maxLength: 6 }), cuts, fc.boolean(), (events, cuts, hasMark) => {
      let text = hasMark ? "\uFEFF" : "";
      let id = "";
      const expected: Frame[] = [];
      for (const { event, id: ownId, data, comment, end, space } of events) {
        // A space may be left out unless the value begins with one.
        const field = (name: string, value: string) =>
          `${name}:${space || value.startsWith(" ") ? " " : ""}${value}${end}`;
        if (comment !== undefined) text += `:${comment}${end}`;
        if (event !== undefined) text += field("event", event);
        if (ownId !== undefined) text += field("id", ownId);
        id = ownId ?? id;
        for (const value of data) text += field("data", value);
        text += end;
        expected.push({ event: event ?? "message", data: data.join("\n"), id });
      }
      const bytes = encoder.encode(text);
      assert.deepEqual(readCut(bytes, cuts), expected);
      assert.deepEqual(readCut(bytes, [...bytes.keys()]), expected);
    }),
    { numRuns: 2_000 },
  );
});

/** Cases of the standard, "Interpreting an event stream", and what it says of each. */
const CASES: readonly (readonly [text: string, frames: readonly Partial<Frame>[]])[] = [
  ["data: YHOO\ndata: +2\ndata: 10\n\n", [{ data: "YHOO\n+2\n10" }]],
  [
    ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
    [{ data: "first event", id: "1" }, { data: "second event", id: "" }, { data: " third event" }],
  ],
  ["data\n\ndata\ndata\n\ndata:", [{ data: "" }, { data: "\n" }]],
  ["data:test\n\ndata: test\n\n", [{ data: "test" }, { data: "test" }]],
  // An event without data is none, and its name is forgotten.
  ["event: a\n\ndata: b\n\n", [{ event: "message", data: "b" }]],
  ["id: a\0b\ndata: c\n\n", [{ id: "", data: "c" }]],
  ["retry: 10\nunknown: x\ndata: c\n\n", [{ data: "c" }]],
  // What has not ended is not there.
  ["data: a\n\ndata: b\n", [{ data: "a" }]],
];

for (const [text, frames] of CASES) {
  Deno.test(`createSseReader() reads ${JSON.stringify(text)} as the standard says`, () => {
    const bytes = encoder.encode(text);
    for (const cuts of [[], [...bytes.keys()]]) {
      const read = readCut(bytes, cuts);
      assert.equal(read.length, frames.length);
      for (const [n, frame] of frames.entries()) {
        assert.deepEqual({ ...read[n], ...frame }, read[n]);
      }
    }
  });
}
