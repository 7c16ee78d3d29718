/** What changes between two specs, what that means, and that no refusal is left out. */

import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";
import { checkCompatibility } from "../../../src/domain/spec/compatibility.ts";
import { diffSpecs, type SpecDiff } from "../../../src/domain/spec/diff.ts";
import { readGolden } from "../../support/golden_cases.ts";

interface SchemaCase {
  readonly name: string;
  readonly before: JsonValue;
  readonly after: JsonValue;
  /** `<kind> <path below the schema> <effect> [rule]`. */
  readonly changes: readonly string[];
}

interface SpecCase {
  readonly name: string;
  readonly before?: JsonObject;
  readonly after: JsonObject;
  readonly verdict: SpecDiff["verdict"];
  readonly changes: readonly string[];
  readonly folded_again: readonly string[];
}

const SCHEMA_PATH = "aggregate_types.order.events.was_placed.schema";

function specWith(schema: JsonValue): JsonObject {
  return {
    aggregate_types: { order: { events: { was_placed: { schema, handler: [] } } } },
    agent_types: ["user"],
  };
}

function linesOf({ changes }: SpecDiff, prefix = ""): string[] {
  return changes.map(({ kind, path, effect, rule }) => {
    assert.ok(path.startsWith(prefix), path);
    return [kind, path.slice(prefix.length), effect, ...(rule ? [rule] : [])].join(" ");
  });
}

for (const { name, before, after, changes } of readGolden<SchemaCase>("diff/schemas.json")) {
  Deno.test(`diffSpecs() of a schema: ${name}`, () => {
    const found = diffSpecs(specWith(before), specWith(after));
    assert.deepEqual(linesOf(found, SCHEMA_PATH), changes);
  });
}

for (const each of readGolden<SpecCase>("diff/specs.json")) {
  Deno.test(`diffSpecs() of ${each.name}`, () => {
    const found = diffSpecs(each.before, each.after);
    assert.equal(found.verdict, each.verdict);
    assert.deepEqual(linesOf(found), each.changes);
    assert.deepEqual(found.folded_again, each.folded_again);
    for (const { meaning } of found.changes) assert.match(meaning, /^\S.*\.$/);
  });
}

Deno.test("diffSpecs() lists each refusal of our rules once, with its rule and hint", () => {
  for (const { name, before, after } of readGolden<SchemaCase>("spec/compatibility.json")) {
    const [was, is] = [specWith(before), specWith(after)];
    const violations = checkCompatibility(was, is).map((
      { rule, path, hint },
    ) => [rule, path, hint]);
    const { verdict, changes } = diffSpecs(was, is);
    const refused = changes.filter(({ effect }) => effect === "refused")
      .map(({ rule, path, hint }) => [rule, path, hint]);
    assert.deepEqual(refused.toSorted(), violations.toSorted(), name);
    assert.equal(verdict === "refused", violations.length > 0, name);
    assert.equal(new Set(changes.map((each) => JSON.stringify(each))).size, changes.length, name);
  }
});

Deno.test("diffSpecs() takes the word of a server over our own rules", () => {
  const [was, is] = [specWith({}), specWith({ required: ["a"] })];
  assert.equal(diffSpecs(was, is, []).verdict, "compatible");
  const violation = { rule: "new_rule", path: SCHEMA_PATH, message: "No.", hint: "Do not." };
  const { verdict, changes } = diffSpecs(was, is, [violation]);
  assert.equal(verdict, "refused");
  assert.deepEqual(changes.at(-1), {
    kind: "changed",
    path: SCHEMA_PATH,
    effect: "refused",
    meaning: "No.",
    rule: "new_rule",
    hint: "Do not.",
  });
});
