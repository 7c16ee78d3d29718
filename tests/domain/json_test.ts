/** What counts as a JSON object. */

import assert from "node:assert/strict";
import { isJsonObject } from "../../src/domain/json.ts";

Deno.test("isJsonObject() is true for objects, false for null, arrays and scalars", () => {
  for (const object of [{}, { a: 1 }, Object.create(null)]) {
    assert.equal(isJsonObject(object), true);
  }
  for (const other of [null, [], [{}], "", "{}", 0, true, undefined]) {
    assert.equal(isJsonObject(other), false);
  }
});
