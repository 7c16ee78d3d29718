/** The kinds of a tenant's keys. */

import assert from "node:assert/strict";
import { kind } from "../../src/store/key_kinds.ts";

Deno.test("no two kinds have one number, and no number is 0", () => {
  const numbers = Object.values(kind);
  assert.equal(new Set<number>(numbers).size, numbers.length);
  assert.ok(numbers.every((number) => Number.isSafeInteger(number) && number > 0));
});
