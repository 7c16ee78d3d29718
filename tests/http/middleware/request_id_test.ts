/** Request ids: the client's own if usable, otherwise random. See docs/reference/errors.md. */

import assert from "node:assert/strict";
import { createRequestIds } from "../../../src/http/middleware/request_id.ts";
import { systemHost } from "../../../src/host.ts";

Deno.test("createRequestIds() keeps the client's own id of 1 to 64 letters, digits, _ and -", () => {
  const next = createRequestIds(systemHost());
  for (const own of ["a", "A-9_z", "x".repeat(64)]) assert.equal(next(own), own);
  for (const bad of ["", "x".repeat(65), "a b", "a,b", "é", "a\n"]) {
    assert.match(next(bad), /^[0-9a-f]{32}$/);
  }
});

Deno.test("createRequestIds() gives 1,000 different ids, also across its pool of randomness", () => {
  const next = createRequestIds(systemHost());
  const ids = new Set(Array.from({ length: 1_000 }, () => next(null)));
  assert.equal(ids.size, 1_000);
  for (const id of ids) assert.match(id, /^[0-9a-f]{32}$/);
});
