/** What counts as a JSON object, and the names of the kinds of values. */

import assert from "node:assert/strict";
import { describeKind, isJsonObject } from "../../src/domain/json.ts";

Deno.test("isJsonObject() is true for objects, false for null, arrays and scalars", () => {
  for (const object of [{}, { a: 1 }, Object.create(null)]) {
    assert.equal(isJsonObject(object), true);
  }
  for (const other of [null, [], [{}], "", "{}", 0, true, undefined]) {
    assert.equal(isJsonObject(other), false);
  }
});

Deno.test("describeKind() names each kind of value as a sentence needs it", () => {
  const names = [null, undefined, [], {}, "a", 1, true].map(describeKind);
  assert.deepEqual(names, [
    ...["null", "nothing", "an array", "an object", "a string", "a number", "a boolean"],
  ]);
});
