/** Reading our own long texts in steps: the same value as JSON.parse, in many pieces. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { runAtOnce } from "../../src/domain/fairness/pieces.ts";
import { parseJsonInTime, parseJsonSteps } from "../../src/domain/parse_json_steps.ts";

function repeat<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

Deno.test("the value is that of JSON.parse, whatever the text and wherever it is cut", () =>
  fc.assert(
    fc.property(
      fc.dictionary(fc.oneof(fc.string(), fc.constant("__proto__")), fc.jsonValue()),
      fc.integer({ min: 1, max: 40 }),
      fc.constantFrom(undefined, 1),
      (value, size, indent) => {
        const text = JSON.stringify(value, undefined, indent);
        const read = runAtOnce(parseJsonSteps(text, size));
        assert.deepEqual(read, JSON.parse(text));
        assert.equal(JSON.stringify(read), JSON.stringify(value));
      },
    ),
    { numRuns: 2_000 },
  ));

Deno.test("quotes and backslashes at the end of a text do not hide where it ends", () => {
  const texts = ['"', "\\", '\\"', "\\\\", '",[{', "]}"];
  const value = { a: texts, [texts.join()]: { b: [texts] } };
  for (let size = 1; size < 60; size++) {
    assert.deepEqual(runAtOnce(parseJsonSteps(JSON.stringify(value), size)), value);
  }
});

for (
  const [name, value] of Object.entries({
    "a list of numbers": { a: repeat(400_000, () => 0) },
    "nested lists": { a: { b: [repeat(200_000, () => [])] } },
    "many names": {
      a: Object.fromEntries(repeat(20_000, (index) => [`n${index}`, "\\".repeat(20)])),
    },
  })
) {
  Deno.test(`a long text of ${name} is read in a step for each 32 KiB or so`, () => {
    const text = JSON.stringify(value);
    const steps = parseJsonSteps(text);
    let count = 0;
    let step = steps.next();
    for (; !step.done; step = steps.next()) count++;
    assert.ok(count >= Math.floor(text.length / 32_768) - 1, `${count} steps`);
    assert.equal(JSON.stringify(step.value), text);
  });
}

Deno.test("a text that was cut off is an error", () => {
  const text = JSON.stringify({ a: repeat(100, () => "text") });
  for (let end = 50; end < text.length; end++) {
    assert.throws(() => runAtOnce(parseJsonSteps(text.slice(0, end), 40)));
  }
});

Deno.test("a text is read in time, or left once time is up", () => {
  const text = JSON.stringify(Object.fromEntries(repeat(20_000, (index) => [`n${index}`, index])));
  assert.equal(JSON.stringify(parseJsonInTime(text, () => false)), text);
  let looks = 0;
  assert.equal(parseJsonInTime(text, () => ++looks === 3), undefined);
  assert.equal(looks, 3);
  assert.deepEqual(parseJsonInTime('{"a":1}', () => true), { a: 1 }, "short: read at once");
});
