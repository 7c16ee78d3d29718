/** Filters of the feed: which names there are, and what each of them wants. */

import assert from "node:assert/strict";
import { parseFeedTypes } from "../../../src/domain/feed/filter.ts";
import { limits } from "../../../src/domain/limits.ts";
import { compileSpec } from "../../../src/domain/spec/compile.ts";
import { exampleSpec } from "../../support/example_spec.ts";

const compiled = compileSpec(exampleSpec);
assert.ok(compiled.ok);
const { spec } = compiled;

Deno.test("a type wants all of its events, also beside some of them", () => {
  const cases = [
    ["order", [["order", "all"]]],
    ["order.*", [["order", "all"]]],
    ["order.was_placed", [["order", ["was_placed"]]]],
    ["order.was_placed,order.was_noted", [["order", ["was_placed", "was_noted"]]]],
    ["order.was_placed,order", [["order", "all"]]],
    ["order,order.was_placed", [["order", "all"]]],
    ["inventory,order.was_placed", [["inventory", "all"], ["order", ["was_placed"]]]],
  ] as const;
  for (const [text, wanted] of cases) {
    const parsed = parseFeedTypes(text, spec);
    assert.ok(parsed.ok, text);
    const got = [...parsed.value].map(([type, events]) => [type, events ? [...events] : "all"]);
    assert.deepEqual(got, wanted, text);
  }
});

Deno.test("names that the spec does not have, and too many, are refused", () => {
  const many = (count: number) => Array(count).fill("order").join(",");
  const cases = ["", "order,", ".", "order.", "order.nothing", "nothing.*", "order.was_placed.x"];
  for (const text of [...cases, many(limits.feedTypesMax + 1)]) {
    const parsed = parseFeedTypes(text, spec);
    assert.ok(!parsed.ok, text);
    assert.equal(parsed.refusal.kind, "bad_request");
  }
  assert.ok(parseFeedTypes(many(limits.feedTypesMax), spec).ok);
});
