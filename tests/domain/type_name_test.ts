/** Type names match `^[a-z][a-z0-9_]{0,63}$`. See docs/reference/identifiers.md. */

import assert from "node:assert/strict";
import { isTypeName } from "../../src/domain/type_name.ts";

Deno.test("isTypeName() takes 1 to 64 lowercase letters, digits and underscores after a letter", () => {
  for (const name of ["a", "order", "was_placed", "a1_", "a".repeat(64)]) {
    assert.ok(isTypeName(name), name);
  }
  const others = ["", "_a", "1a", "A", "a-b", "a:b", "a b", "é", "a\n", "a".repeat(65)];
  for (const name of others) assert.ok(!isTypeName(name), name);
});
