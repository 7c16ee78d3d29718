/** What one look at each character of a JSON text finds out. */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { JsonObject } from "../../../src/domain/json.ts";
import { countKeys, surveyText } from "../../../src/http/decode/json_survey.ts";

Deno.test("surveyText() counts the keys and the depth of any JSON that countKeys() and a walk find", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 8 }), (json) => {
      const value = { a: JSON.parse(json) };
      const survey = surveyText(JSON.stringify(value));
      assert.equal(survey.keys, countKeys(value));
      assert.equal(survey.depth, depthOf(value));
    }),
  );
});

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const inner = Object.values(value as JsonObject).map(depthOf);
  return 1 + Math.max(0, ...inner);
}
