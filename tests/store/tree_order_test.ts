/** Stream keys in the order of the tree, whatever characters their names have. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { pack } from "../../src/kv/tuple.ts";
import { fromTreeOrder, inTreeOrder } from "../../src/store/keys.ts";

const NAMES = ["", "a", "zz", "é", "\ud7ff", "\ue000", "\uffff", "\u{10000}", "\u{10ffff}"];
const name = fc.string({
  unit: fc.oneof(fc.constantFrom(...NAMES), fc.string({ unit: "binary" })),
});

Deno.test("inTreeOrder() has the bytes of a store key in the order of the texts", () => {
  fc.assert(
    fc.property(name, name, (a, b) => {
      const [first, second] = [a, b].map((each) => pack([inTreeOrder(each)]).toHex());
      assert.equal(first! < second!, a < b);
      assert.equal(first === second, a === b);
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("inTreeOrder() leaves what is in one order anyway as it is, and is undone", () => {
  for (const key of ["", "order:0f1e", "a:global", "a:Zürich", "a:\ud7ff"]) {
    assert.equal(inTreeOrder(key), key);
  }
  fc.assert(fc.property(name, (each) => assert.equal(fromTreeOrder(inTreeOrder(each)), each)));
});
