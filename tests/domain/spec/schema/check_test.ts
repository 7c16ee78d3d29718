/** What checking and rewriting a schema costs where its names are long. */

import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "../../../../src/domain/json.ts";
import { createFaultList } from "../../../../src/domain/spec/fault_list.ts";
import { checkSchema } from "../../../../src/domain/spec/schema/check.ts";
import { createPatternSet } from "../../../../src/domain/spec/schema/patterns/pattern_set.ts";
import { rewriteSchema } from "../../../../src/domain/spec/schema/rewrite.ts";
import { lookedUp } from "../../../support/looked_up.ts";

const LONG = "x".repeat(5_000);
const ANCHORS = 50;
/** Characters of the pointers of all schemas, roughly. */
const POINTERS = ANCHORS * LONG.length;

/** Each of many references may mean any of 50 schemas whose pointers are long. */
function schemaOf(reference: JsonObject): JsonValue {
  const targets = Array.from({ length: ANCHORS }, (_, index) => [
    `d${index}`,
    { $id: `r${index}`, $dynamicAnchor: "a", $anchor: "b", minProperties: 1 },
  ]);
  const group = { allOf: Array.from({ length: 100 }, () => reference) };
  return {
    $defs: { [LONG]: { $defs: Object.fromEntries(targets) } },
    allOf: Array.from({ length: 5 }, () => group),
  };
}

const REFERENCES: JsonObject[] = [{ $dynamicRef: "r0#a" }, { $ref: "r7#b" }];

for (const reference of REFERENCES) {
  const [keyword] = Object.keys(reference);
  Deno.test(`each long pointer is read a few times, however often a ${keyword} means its schema`, () => {
    const faults = createFaultList();
    const reports = { patterns: createPatternSet(), faults, warnings: createFaultList() };
    const checked = lookedUp(checkSchema(schemaOf(reference), "schema", reports));
    assert.deepEqual(faults.faults, []);
    const rewritten = lookedUp(rewriteSchema(checked.value!));
    for (const { total, longest } of [checked, rewritten]) {
      assert.ok(total < 4 * POINTERS, `${total} characters`);
      assert.ok(longest < 4 * LONG.length, `${longest} characters in one step`);
    }
  });
}

Deno.test("checkSchema() pauses at each schema of a long chain that looks at one value", () => {
  let reads = 0;
  const chain = Array.from({ length: 90 }, (_, index) => {
    const schema = { title: "t" };
    const $ref = `#/$defs/d${index + 1}`;
    Object.defineProperty(schema, "$ref", { enumerable: true, get: () => (reads++, $ref) });
    return [`d${index}`, schema];
  });
  const $defs = Object.fromEntries([...chain, ["d90", true]]);
  const faults = createFaultList();
  const reports = { patterns: createPatternSet(), faults, warnings: createFaultList() };
  const steps = checkSchema({ $ref: "#/$defs/d0", $defs }, "schema", reports);
  for (let done = false; !done;) {
    const before = reads;
    done = steps.next().done === true;
    assert.ok(reads - before <= 4, `${reads - before} references in one step`);
  }
  assert.deepEqual(faults.faults, []);
});
