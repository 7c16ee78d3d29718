/** The size of a pattern with its repeats written out. */

import assert from "node:assert/strict";
import { compilePattern } from "../../../../../src/domain/spec/schema/patterns/pattern.ts";
import { createUnrolledSize } from "../../../../../src/domain/spec/schema/patterns/unrolled_size.ts";

Deno.test("createUnrolledSize() multiplies repeats of groups within groups", () => {
  const size = createUnrolledSize();
  size.atom();
  size.open();
  size.atom();
  size.repeat(10);
  size.atom();
  size.close();
  size.repeat(3);
  assert.equal(size.total(), 1 + 3 * 11);
});

Deno.test("createUnrolledSize() survives a group that was never opened", () => {
  const size = createUnrolledSize();
  size.close();
  size.atom();
  assert.equal(size.total(), 1);
});

Deno.test("compilePattern() refuses many long repeats without writing them out", () => {
  const result = compilePattern("a{1000}".repeat(280));
  assert(!result.ok && result.message.includes("too large"));
  assert(result.work < 1_000);
});
