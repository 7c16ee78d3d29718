/** The names of environments as callers write them. */

import assert from "node:assert/strict";
import { ENVIRONMENTS, parseEnvironment } from "../../src/domain/tenant.ts";

Deno.test("parseEnvironment() knows the three environments and the alias prod, nothing else", () => {
  assert.deepEqual(ENVIRONMENTS, ["production", "staging", "test"]);
  for (const environment of ENVIRONMENTS) {
    assert.equal(parseEnvironment(environment), environment);
  }
  assert.equal(parseEnvironment("prod"), "production");
  for (const text of ["", "Production", "testing", "stage", " test", "__proto__"]) {
    assert.equal(parseEnvironment(text), undefined);
  }
});
