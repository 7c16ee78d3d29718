/** The text of a state, encoded at once and in slices: the same text and the same refusals. */

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { encodeState, encodeStateInPieces } from "../../../src/domain/handler/state_text.ts";
import type { JsonObject } from "../../../src/domain/json.ts";
import { limits } from "../../../src/domain/limits.ts";

function joined(state: JsonObject): string {
  const outcome = encodeStateInPieces(state);
  assert.ok(outcome.ok);
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const text = outcome.value.map((piece) => decoder.decode(piece, { stream: true })).join("");
  return text + decoder.decode();
}

const states = fc.dictionary(
  fc.string({ unit: "binary" }),
  fc.jsonValue({ stringUnit: "binary", maxDepth: 6 }),
) as fc.Arbitrary<JsonObject>;

Deno.test("the pieces of any state are its JSON text", () => {
  fc.assert(
    fc.property(states, (state) => assert.equal(joined(state), JSON.stringify(state))),
    { numRuns: 2_000 },
  );
});

Deno.test("a state of several pieces is whole, wherever its characters are cut", () => {
  const list = Array.from(
    { length: 40_000 },
    (_, index) => ({ n: index, t: "é🙂".repeat(index % 7) }),
  );
  const state = { list, deep: { a: { b: { c: { d: list.slice(0, 5_000) } } } } };
  assert.equal(joined(state), JSON.stringify(state));
  const outcome = encodeStateInPieces(state);
  assert.ok(outcome.ok && outcome.value.length > 3);
});

/** A state whose text has exactly this many bytes. */
function stateOf(bytes: number): JsonObject {
  const texts = Array.from({ length: 32 }, () => "é".repeat(limits.stateBytesMax / 128));
  const empty = Buffer.byteLength(JSON.stringify({ texts, rest: "" }));
  return { texts, rest: "x".repeat(bytes - empty) };
}

Deno.test("a state as large as one may be has a text, and one byte more is refused alike by both", () => {
  const fits = stateOf(limits.stateBytesMax);
  assert.ok(encodeState(fits).ok);
  assert.equal(joined(fits).length, JSON.stringify(fits).length);
  const tooLarge = stateOf(limits.stateBytesMax + 1);
  const refused = encodeState(tooLarge);
  assert.equal(!refused.ok && "bytes" in refused.refusal && refused.refusal.bytes, 33_554_433);
  assert.deepEqual(encodeStateInPieces(tooLarge), refused);
});
