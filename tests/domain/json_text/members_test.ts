/** See src/domain/json_text/members.ts. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { memberTexts } from "../../../src/domain/json_text/members.ts";

Deno.test("memberTexts() cuts an object into its names and the texts of their values", () => {
  fc.assert(fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (object) => {
    const sent = JSON.parse(JSON.stringify(object)) as Record<string, unknown>;
    const members = Object.entries(sent).map(([name, value]) => [name, JSON.stringify(value)]);
    assert.deepEqual([...memberTexts(JSON.stringify(sent))], members);
  }));
});

Deno.test("memberTexts() is not misled by brackets, quotes and commas within texts", () => {
  const object = { 'a"},{': '\\"]}', "[": ["{", { "}": "," }], "": 0, "\\": "", last: null };
  const members = Object.entries(object).map(([name, value]) => [name, JSON.stringify(value)]);
  assert.deepEqual([...memberTexts(JSON.stringify(object))], members);
});
