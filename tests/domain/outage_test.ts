/** Outages are recognized by the error names that engines really use. */

import assert from "node:assert/strict";
import { isOutage } from "../../src/domain/outage.ts";
import { EngineClosed, EngineLimitExceeded, EngineUnavailable } from "../../src/kv/engine.ts";

Deno.test("isOutage() is true of a store that is away or closed, and of nothing else", () => {
  for (const error of [new EngineUnavailable("away"), new EngineClosed("closed")]) {
    assert.equal(isOutage(error), true, error.name);
  }
  for (const other of [new EngineLimitExceeded("too much"), new Error("bug"), "text", undefined]) {
    assert.equal(isOutage(other), false);
  }
});
