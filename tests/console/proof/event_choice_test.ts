/** What somebody may type for an event, and the stream that it means. */

import assert from "node:assert/strict";
import { readChoice, streamMeant, streamsMeant } from "../../../console/src/proof/event_choice.ts";

const UUID = "0B5A7C1E-7D1B-4C52-8F3A-1234567890AB";

Deno.test("readChoice() says what is expected where something else was typed", () => {
  for (
    const [stream, index, field, expected] of [
      ["", "0", "stream", /a colon/],
      ["order", "0", "stream", /a colon.*order:7KD2M9QXA/],
      [":7KD2M9QXA", "0", "stream", /type before the colon/],
      ["order:", "0", "stream", /id after the colon/],
      ["$audit:7KD2M9QXA", "0", "stream", /No type/],
      ["order:7KD2M9QXA", "", "index", /whole number/],
      ["order:7KD2M9QXA", "-1", "index", /whole number/],
      ["order:7KD2M9QXA", "1.5", "index", /whole number/],
      ["order:7KD2M9QXA", "1e300", "index", /whole number/],
    ] as const
  ) {
    const read = readChoice(stream, index);
    assert.ok(!read.ok, stream);
    assert.equal(read.field, field);
    assert.match(read.message, expected);
  }
});

Deno.test("readChoice() splits at the first colon, because an id may hold one", () => {
  assert.deepEqual(readChoice(` order:${UUID}:tag `, "3"), {
    ok: true,
    choice: { type: "order", id: `${UUID}:tag`, index: 3 },
  });
});

Deno.test("an id means its canonical form, or a singleton of that very name", () => {
  const meant = (id: string) => streamsMeant({ type: "order", id, index: 0 });
  assert.deepEqual(meant("7KD2M9QXA"), ["order:7KD2M9QXA"]);
  // I and L are read as 1, O as 0, U as V.
  assert.deepEqual(meant("oilu0abcd"), ["order:011V0ABCD", "order:oilu0abcd"]);
  assert.deepEqual(meant(`${UUID}:tag`)[0], `order:${UUID.toLowerCase()}:tag`);
  assert.deepEqual(meant("global"), ["order:global"]);
});

Deno.test("evidence about a stream that was not asked for is not taken for the one asked for", () => {
  const choice = { type: "stock", id: "warehouse", index: 0 };
  assert.equal(streamMeant(choice, "stock:warehouse"), "stock:warehouse");
  assert.equal(streamMeant(choice, "stock:WAREH0VSE"), "stock:WAREH0VSE");
  for (const found of ["stock:other", "__proto__", undefined, 1]) {
    assert.equal(streamMeant(choice, found), "stock:WAREH0VSE");
  }
});
