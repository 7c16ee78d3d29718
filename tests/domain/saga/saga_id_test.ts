/** Ids of sagas: the same for the same event, and sorted by time. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { sagaIdOf, sagaIdsFrom } from "../../../src/domain/saga/saga_id.ts";
import { streamKey } from "../../../src/domain/identifier.ts";

const STREAM = streamKey("order", "global");

function idAt(timestamp: number, name = "a", index = 0): string {
  const metadata = { actor: { type: "user", id: "global" }, timestamp };
  return sagaIdOf(name, { stream: STREAM, index }, { metadata });
}

Deno.test("sagaIdOf() is the same for one event and saga, and another for any other", () => {
  assert.match(idAt(1_767_225_600), /^saga_[0-9a-f]{36}$/);
  assert.equal(idAt(5), idAt(5));
  assert.equal(new Set([idAt(5), idAt(5, "b"), idAt(5, "a", 1), idAt(6)]).size, 4);
});

Deno.test("sagaIdsFrom() is above the ids of all earlier events and not above those of later ones", () => {
  const time = fc.integer({ min: 0, max: 10_000_000_000 });
  fc.assert(fc.property(time, time, (written, from) => {
    assert.equal(idAt(written) >= sagaIdsFrom(from), written >= from);
  }));
  assert.ok(idAt(0) >= sagaIdsFrom(-5), "before 1970 there is nothing");
});
