/** Identifiers, by golden cases. See docs/reference/identifiers.md. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { explainIdentifier, parseIdentifier } from "../../src/domain/identifier.ts";
import cases from "../golden/identifiers/identifiers.json" with { type: "json" };

for (const { name, text, singletons, expect } of cases) {
  Deno.test(`parseIdentifier(): ${name}`, () => {
    const found = parseIdentifier(text, new Set(singletons ?? []));
    assert.deepEqual(found ?? null, expect);
  });
}

Deno.test("parseIdentifier() gives the same canonical form when it is given one", () => {
  const none = new Set<string>();
  fc.assert(fc.property(fc.uuid({ version: [4, 5] }), fc.boolean(), (uuid, upper) => {
    const canonical = parseIdentifier(upper ? uuid.toUpperCase() : uuid, none)!.value;
    assert.equal(parseIdentifier(canonical, none)!.value, canonical);
  }));
  fc.assert(fc.property(fc.stringMatching(/^[0-9A-Za-z]{9}$/), (code) => {
    const canonical = parseIdentifier(code, none)!.value;
    assert.match(canonical, /^[0-9A-HJKMNP-TV-Z]{9}$/);
    assert.equal(parseIdentifier(canonical, none)!.value, canonical);
  }));
});

Deno.test("parseIdentifier() gives a declared singleton as it is, whatever it looks like", () => {
  const uuid = "5b3e1a7c-9d24-4f6a-8b1e-0c2d3e4f5a6b";
  const declared = new Set([uuid, uuid.toUpperCase(), "inventory", `${uuid.toUpperCase()}:tag`]);
  for (const text of declared) assert.equal(parseIdentifier(text, declared)?.value, text);
});

Deno.test("parseIdentifier() takes no text outside the four kinds, whatever it holds", () => {
  const shape =
    /^([0-9a-f]{8}-[0-9a-f]{4}-[45][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}(:[a-z0-9]{1,10})?|[0-9A-HJKMNP-TV-Z]{9}|global)$/;
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 60 }), (text) => {
      const found = parseIdentifier(text, new Set());
      assert.ok(found === undefined || shape.test(found.value));
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("explainIdentifier() says which rule a refused text breaks", () => {
  const v1 = "5b3e1a7c-9d24-1f6a-8b1e-0c2d3e4f5a6b";
  assert.match(explainIdentifier(""), /empty/);
  assert.match(explainIdentifier(v1), /version 4 or 5/);
  assert.match(explainIdentifier(v1.replace("-1f", "-4f") + ":TAG"), /1-10 characters/);
  assert.match(explainIdentifier("order 7"), /humane code/);
});
