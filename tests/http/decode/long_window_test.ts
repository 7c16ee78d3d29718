/** The window of a long text moves along it, and knows where it is. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { extend, type LongWindow, placeOf, refill } from "../../../src/http/decode/long_window.ts";

function openWindow(blocks: string[], groupCharacters: number): LongWindow {
  return {
    text: "",
    blocks,
    dropped: 0,
    cuts: [],
    groupCharacters,
    at: 0,
    groupStart: 0,
    faultyAt: -1,
    spaces: [],
    depth: 1,
    openAt: new Int32Array(3),
    commaAt: new Int32Array(3),
  };
}

/** Characters that differ from their neighbours, in blocks; each run of dots is white space. */
const blocks = fc.array(
  fc.oneof(
    fc.stringMatching(/^[a-z]{1,20}$/),
    fc.nat({ max: 30 }).map((length) => ".".repeat(1 + length)),
  ),
  { maxLength: 30 },
);

/** Reads a few characters, and says which white space in them is long. */
function step(window: LongWindow): void {
  const stop = Math.min(window.at + window.groupCharacters, window.text.length);
  const seen = window.text.slice(window.at, stop);
  for (const { index, 0: { length } } of seen.matchAll(/\.{3,}/g)) {
    window.spaces.push({ from: window.at + index + 1, to: window.at + index + length });
  }
  window.at = stop;
}

Deno.test("each character of the window has its place in the whole text, whatever has left", () => {
  fc.assert(
    fc.property(
      blocks,
      fc.integer({ min: 1, max: 20 }),
      fc.array(fc.nat({ max: 9 }), { minLength: 1 }),
      (sent, groupCharacters, parsed) => {
        const whole = sent.join("");
        const window = openWindow([...sent], groupCharacters);
        let seen = "";
        for (let turn = 0; window.at < window.text.length || window.blocks.length > 0; turn++) {
          refill(window);
          for (let at = window.groupStart; at < window.text.length; at++) {
            assert.equal(window.text[at], whole[placeOf(window, at)]);
          }
          const from = window.at;
          step(window);
          seen += window.text.slice(from, window.at);
          // Some steps parse a part of what has been read.
          const behind = parsed[turn % parsed.length]!;
          if (behind < 5) window.groupStart = Math.max(window.groupStart, window.at - behind);
          window.spaces.splice(0, 0, ...window.spaces.splice(0).filter(({ from }) => from > 0));
        }
        assert.equal(seen, whole, "each character is read once");
      },
    ),
    { numRuns: 1_000 },
  );
});

Deno.test("what is remembered stays with its character, and what has been parsed is behind", () => {
  const window = openWindow(["abc....d", "efgh", "ijkl"], 4);
  extend(window);
  window.at = window.groupStart = 2;
  Object.assign(window, { faultyAt: 7 });
  window.openAt[1] = 7;
  window.commaAt[1] = 1;
  window.spaces.push({ from: 4, to: 7 });
  window.at = 8;
  refill(window);
  assert.equal(window.text, "c.defghijkl".slice(0, window.text.length));
  assert.equal(window.text[window.faultyAt], "d");
  assert.equal(window.text[window.openAt[1]!], "d");
  assert.ok(window.commaAt[1]! < window.groupStart);
  assert.equal(placeOf(window, window.text.indexOf("e")), 8);
});

Deno.test("joining is linear: of a group that does not end, each block doubles what is joined", () => {
  const window = openWindow(Array.from({ length: 4_096 }, () => "x".repeat(16)), 16);
  let joined = 0;
  while (window.blocks.length > 0) {
    extend(window);
    joined += window.text.length;
  }
  assert.ok(joined < 3 * 4_096 * 16, `${joined} characters`);
});
