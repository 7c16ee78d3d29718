/**
 * The chain hash of events. Python's hashlib made the expected hashes. See
 * docs/reference/audit.md.
 */

import assert from "node:assert/strict";
import { extendChain } from "../../../src/domain/audit/chain.ts";
import golden from "../../golden/audit/chain.json" with { type: "json" };

Deno.test("extendChain() gives the hashes that an independent implementation gives", () => {
  let tip: string | undefined;
  for (const [index, raw] of golden.events.entries()) {
    tip = extendChain(tip, raw);
    assert.equal(tip, golden.hashes[index]);
  }
});

Deno.test("extendChain() depends on the previous hash and on every character of the event", () => {
  const [first, second] = golden.events as [string, string];
  const tip = extendChain(undefined, first);
  assert.notEqual(extendChain(tip, second), extendChain(undefined, second));
  assert.notEqual(extendChain(tip, second), extendChain(tip, second.replace("1", "2")));
});
