/** States in parts: each part is made by itself, and together they are the same bytes. */

import assert from "node:assert/strict";
import {
  bytesOfParts,
  PART_BYTES,
  partsOfState,
  textOfParts,
} from "../../../src/store/streams/state_parts.ts";

function noRest() {
  return undefined;
}

/** Texts in which characters of two, three and four bytes meet every cut between two parts. */
function* texts(): Generator<string> {
  yield "";
  yield "a".repeat(PART_BYTES);
  for (const character of ["a", "é", "語", "\u{1F600}"]) {
    for (let shift = 0; shift < 5; shift++) {
      yield "a".repeat(PART_BYTES - shift) + character.repeat(5);
      yield "a".repeat(shift) + character.repeat(PART_BYTES);
    }
  }
}

Deno.test("the parts of a text are its bytes in UTF-8, wherever its characters are cut", async () => {
  for (const text of texts()) {
    const parts = await partsOfState(text, noRest);
    assert(parts.every(({ length }) => length <= PART_BYTES));
    const bytes = await bytesOfParts(parts, noRest);
    assert.deepEqual(bytes, new TextEncoder().encode(text));
    assert.equal(await textOfParts(parts, noRest), text);
    // Parts of bytes end anywhere, also within a character.
    const again = await partsOfState(bytes, noRest);
    assert.equal(again.length, Math.ceil(bytes.length / PART_BYTES));
    assert.equal(await textOfParts(again, noRest), text);
    assert.deepEqual(await bytesOfParts(again, noRest), bytes);
  }
});

Deno.test("other work gets the thread between any two parts", async () => {
  const text = "é".repeat(5 * PART_BYTES);
  for (const state of [text, new TextEncoder().encode(text)]) {
    let rests = 0;
    const rest = () => Promise.resolve(void rests++);
    const parts = await partsOfState(state, rest);
    assert.equal(rests, parts.length);
    await textOfParts(parts, rest);
    await bytesOfParts(parts, rest);
    assert.equal(rests, 3 * parts.length);
  }
});
