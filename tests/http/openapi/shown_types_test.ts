/** Component names that client generators can tell apart. */

import assert from "node:assert/strict";
import { createNames } from "../../../src/http/openapi/shown_types.ts";

Deno.test("claim() gives a plain name as it is, and others without what is not plain", () => {
  const { claim } = createNames([]);
  assert.equal(claim("order.was_made"), "order.was_made");
  assert.equal(claim("Page[int]/~ ü"), "Page_int_____");
});

Deno.test("claim() gives no name that reads as one given before, or as a taken one", () => {
  const { claim } = createNames(["WriteMetadata"]);
  const wanted = ["write_metadata", "a.b_c", "a_b.c", "aBC", "a.b_c_2", "a_b_c_3"];
  assert.deepEqual(wanted.map(claim), [
    "write_metadata_2",
    "a.b_c",
    "a_b.c_2",
    "aBC_3",
    "a.b_c_2_2",
    "a_b_c_3_2",
  ]);
});

Deno.test("claim() takes time that grows with the names, also where all are the same", () => {
  const { claim } = createNames([]);
  const startedMs = performance.now();
  const names = new Set(Array.from({ length: 50_000 }, () => claim("a")));
  assert.equal(names.size, 50_000);
  assert(performance.now() - startedMs < 2_000);
});

Deno.test("refTo() is the reference to a component", () => {
  assert.equal(createNames([]).refTo("a.b"), "#/components/schemas/a.b");
});
