/** Members of a text of JSON, as they are spelt. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { rawMember } from "../../../src/domain/migrate/raw_member.ts";

Deno.test("rawMember() keeps the spelling of numbers, keys and white space", () => {
  const text =
    '{"x\\"":{"data":1},"payload": {"a":[{"data":2}], "data" : { "b":1.0,"a":"}\\"" } }}';
  assert.equal(rawMember(text, ["payload", "data"]), '{ "b":1.0,"a":"}\\"" }');
  assert.equal(rawMember(text, ["payload", "a"]), '[{"data":2}]');
  assert.equal(rawMember(text, ["payload", "other"]), undefined);
  assert.equal(rawMember("{}", ["data"]), undefined);
});

Deno.test("rawMember() finds each member of any object", () => {
  const object = fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 });
  fc.assert(fc.property(object, fc.constantFrom(0, 2), (members, indent) => {
    const text = JSON.stringify({ before: "x", payload: members, behind: 1 }, null, indent);
    for (const [key, value] of Object.entries(JSON.parse(text).payload)) {
      assert.deepEqual(JSON.parse(rawMember(text, ["payload", key])!), value);
    }
  }));
});
