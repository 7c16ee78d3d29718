/** The size of a state as JSON text, computed without making that text. */

import { ok, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { measureState } from "../../../src/domain/handler/measure.ts";
import { limits } from "../../../src/domain/limits.ts";
import { state } from "./random_handler.ts";

Deno.test("measureState() counts the bytes that JSON.stringify would write", () => {
  fc.assert(
    fc.property(state, (each) => {
      const text = JSON.stringify(each);
      strictEqual(measureState(each).bytes, new TextEncoder().encode(text).length);
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("measureState() stops at a state that is too large and says so", () => {
  const text = "x".repeat(limits.stateBytesMax);
  ok(measureState({ text }).bytes > limits.stateBytesMax);
  strictEqual(measureState({ text: text.slice(11) }).bytes, limits.stateBytesMax);
  ok(measureState({ text, more: { text, again: [text] } }).bytes > limits.stateBytesMax);
});
