/** How the difference of two specs reads. */

import assert from "node:assert/strict";
import { compareLines, showDiff } from "../../../src/cli/spec/show_diff.ts";
import { diffSpecs } from "../../../src/domain/spec/diff.ts";
import type { JsonObject } from "../../../src/domain/json.ts";
import { readGolden } from "../../support/golden_cases.ts";

interface ShownCase {
  readonly name: string;
  readonly before: JsonObject;
  readonly after: JsonObject;
  readonly text: readonly string[];
}

for (const { name, before, after, text } of readGolden<ShownCase>("diff/shown.json")) {
  Deno.test(`showDiff(): ${name}`, () => {
    const shown = showDiff(diffSpecs(before, after), (_, each) => each);
    assert.deepEqual(shown.split("\n"), text);
  });
}

Deno.test("compareLines() keeps both texts whole, and what they share once", () => {
  const cases = [["", "abc"], ["abc", ""], ["abc", "abc"], ["abcd", "xbdy"], ["aab", "aba"]];
  for (const [before, after] of cases) {
    const lines = compareLines([...before!], [...after!]);
    const side = (of: string) =>
      lines.filter(({ side }) => side === of || side === "both").map(({ text }) => text).join("");
    assert.equal(side("before"), before);
    assert.equal(side("after"), after);
  }
  // The longest common part of abcd and xbdy is bd.
  const shared = compareLines([..."abcd"], [..."xbdy"]).filter(({ side }) => side === "both");
  assert.deepEqual(shared.map(({ text }) => text), ["b", "d"]);
});
