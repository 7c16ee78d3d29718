/** JSON texts in steps: the same as in one piece, and no more of a text than is asked for. */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { JsonValue } from "../../src/domain/json.ts";
import { runAtOnce } from "../../src/domain/fairness/pieces.ts";
import { jsonTextSteps } from "../../src/domain/json_text_steps.ts";

Deno.test("the text is that of JSON.stringify, whatever the value", () =>
  fc.assert(fc.property(fc.json(), (json) => {
    const value = JSON.parse(json) as JsonValue;
    assert.equal(runAtOnce(jsonTextSteps(value, Infinity)), JSON.stringify(value));
  })));

Deno.test("a value of many values is left between its steps", () => {
  const value = Array.from({ length: 10_000 }, () => ({}));
  const steps = jsonTextSteps(value, Infinity);
  let count = 0;
  while (!steps.next().done) count++;
  assert.ok(count >= 75, `${count} steps`);
});

Deno.test("no more is read of a value than makes its text too long", () => {
  let reads = 0;
  const many = new Proxy(Array<JsonValue>(1_000_000).fill(0), {
    get: (target, name) => (reads++, Reflect.get(target, name)),
  });
  const text = runAtOnce(jsonTextSteps({ many }, 1_000));
  assert.ok(text.length > 1_000 && text.length < 1_010);
  assert.ok(reads < 1_000, `${reads} reads`);
});
