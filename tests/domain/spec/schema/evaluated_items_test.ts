/** Evaluated items of an array: what recording them costs, and how faults report them. */

import assert from "node:assert/strict";
import { newBudget } from "../../../../src/domain/budget.ts";
import type { JsonObject, JsonValue } from "../../../../src/domain/json.ts";
import { itemRecordsOf } from "../../../../src/domain/spec/schema/evaluated_items.ts";
import { findReferences } from "../../../../src/domain/spec/schema/references.ts";
import { openCompiler } from "../../../support/compile_schema.ts";

function recordsOf(schema: JsonValue) {
  return itemRecordsOf(findReferences(schema));
}

Deno.test("items are recorded only where a schema asks which are left", () => {
  assert.equal(recordsOf({ contains: true, items: true }).isKept, false);
  assert.equal(recordsOf({ properties: { a: { unevaluatedItems: false } } }).isKept, true);
});

Deno.test("each item costs more where contains may record each of them", () => {
  const few = recordsOf({ unevaluatedItems: false }).unitsPerItem;
  const many = recordsOf({ unevaluatedItems: false, contains: true }).unitsPerItem;
  assert(few > 0 && many > few);
});

Deno.test("a record that every branch copies is charged for in every branch", () => {
  const branch = { contains: { type: "integer" } };
  const schema: JsonObject = {
    properties: { a: { allOf: Array(100).fill(branch), unevaluatedItems: false } },
  };
  const validate = openCompiler().compile(schema)!;
  const work = newBudget(Number.MAX_SAFE_INTEGER);
  const [fault] = validate({ a: Array(40_000).fill(1) }, work);
  assert.equal(fault?.message, "takes too much work to check against its schema");
  assert.deepEqual(validate({ a: [1, 2] }), []);
});

Deno.test("the fault of items that are left over names their array", () => {
  const schema: JsonObject = {
    properties: { a: { contains: { const: 1 }, unevaluatedItems: false } },
  };
  assert.deepEqual(openCompiler().compile(schema)!({ a: [2, 1] }), [
    { path: "data.a", message: "has more items than allowed" },
  ]);
});

Deno.test("a schema for what is left over names the item", () => {
  const schema: JsonObject = {
    properties: { a: { contains: { const: 1 }, unevaluatedItems: { type: "string" } } },
  };
  assert.deepEqual(openCompiler().compile(schema)!({ a: ["x", 1, 2] }), [
    { path: "data.a.2", message: "must be a string" },
  ]);
});
