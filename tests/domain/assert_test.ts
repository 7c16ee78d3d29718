/** The guard for what cannot happen. */

import assert from "node:assert/strict";
import { assert as guard, Bug } from "../../src/domain/assert.ts";

Deno.test("assert() is silent while its condition holds, and throws a Bug when it does not", () => {
  guard(1, "never seen");
  for (const broken of [false, 0, "", null, undefined]) {
    assert.throws(() => guard(broken, "the head is gone"), {
      name: "Bug",
      message: "the head is gone",
    });
  }
  assert.ok(new Bug("x") instanceof Error);
});
