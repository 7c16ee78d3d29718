/** The beginning of the JSON of a value. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { shortJson } from "../../../console/src/parts/short_json.ts";

Deno.test("shortJson() is the beginning of what JSON.stringify() gives, and whole where it fits", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.integer({ min: 1, max: 200 }), (value, max) => {
      const whole = JSON.stringify(value);
      const short = shortJson(value, max);
      if (whole.length <= max) assert.equal(short, whole);
      else assert.equal(short, `${whole.slice(0, max)}…`);
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("shortJson() looks at no more of a value than it shows", () => {
  let looked = 0;
  const list = Array.from({ length: 1_000 }, (_, at) => ({
    get at() {
      looked++;
      return at;
    },
  }));
  assert.equal(shortJson({ list, more: "x".repeat(1_000) }, 40).length, 41);
  assert.ok(looked < 10);
  const hostile = JSON.parse('{"__proto__":{"a":1},"b":2}');
  assert.equal(shortJson(hostile, 100), '{"__proto__":{"a":1},"b":2}');
});
