/**
 * Faults of a value that matches no form of a choice: the choice first, then the nearest form.
 */

import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "../../../../src/domain/json.ts";
import { openCompiler } from "../../../support/compile_schema.ts";
import { createFaultList } from "../../../../src/domain/spec/fault_list.ts";

function faultsOf(schema: JsonValue, data: JsonObject): string[] {
  const validate = openCompiler().compile(schema, "schema", createFaultList());
  assert(validate);
  return validate(data).map(({ path, message }) => `${path} ${message}`);
}

const card = { properties: { kind: { const: "card" }, number: { type: "string" } } };
const cash = { properties: { kind: { const: "cash" }, amount: { type: "integer" } } };

for (const keyword of ["anyOf", "oneOf"]) {
  Deno.test(`${keyword} names the value that matches no form before the nearest form's faults`, () => {
    const schema: JsonValue = { properties: { payment: { [keyword]: [card, cash] } } };
    assert.deepEqual(faultsOf(schema, { payment: { kind: "cash", amount: "5", number: 1 } }), [
      "data.payment matches none of the 2 allowed forms",
      "data.payment.amount must be an integer",
    ]);
  });

  Deno.test(`${keyword} at the root is a fault of data`, () => {
    const schema: JsonValue = { [keyword]: [{ required: ["a"] }, { required: ["b"] }] };
    assert.equal(faultsOf(schema, {})[0], "data matches none of the 2 allowed forms");
  });

  Deno.test(`${keyword} behind a $ref is told first as well`, () => {
    const schema: JsonValue = {
      properties: { id: { $ref: "#/$defs/id" } },
      $defs: { id: { [keyword]: [{ type: "integer" }, { type: "object", required: ["v"] }] } },
    };
    assert.deepEqual(faultsOf(schema, { id: {} }), [
      "data.id matches none of the 2 allowed forms",
      "data.id.v is required",
    ]);
  });
}

Deno.test("a choice within a choice is told within the branch that holds it", () => {
  const inner: JsonValue = {
    required: ["b"],
    properties: { b: { anyOf: [{ minimum: 5 }, { type: "null" }] } },
  };
  const schema: JsonValue = { properties: { a: { oneOf: [{ type: "string" }, inner] } } };
  assert.deepEqual(faultsOf(schema, { a: { b: 1 } }), [
    "data.a matches none of the 2 allowed forms",
    "data.a.b matches none of the 2 allowed forms",
    "data.a.b must be >= 5",
  ]);
});

Deno.test("oneOf says so when several forms match, and nothing of the forms that do not", () => {
  const schema: JsonValue = {
    properties: { a: { oneOf: [{ type: "string" }, { minimum: 1 }, {}] } },
  };
  assert.deepEqual(faultsOf(schema, { a: 3 }), [
    "data.a matches more than one of the forms of which only one may match",
  ]);
});

Deno.test("faults beside a choice stay, each in its place", () => {
  const schema: JsonValue = {
    properties: { a: { anyOf: [{ type: "string" }] }, b: { type: "string" } },
    required: ["c"],
  };
  assert.deepEqual(faultsOf(schema, { a: 1, b: 1 }).toSorted(), [
    "data.a does not match the one allowed form",
    "data.a must be a string",
    "data.b must be a string",
    "data.c is required",
  ]);
});

Deno.test("if, then and else under unevaluatedProperties name what the form lacks", () => {
  const schema: JsonValue = {
    if: { properties: { k: { const: 1 } }, required: ["k"] },
    then: { required: ["a"] },
    else: { required: ["b"] },
    unevaluatedProperties: true,
  };
  assert.deepEqual(faultsOf(schema, { k: 1 }), ["data.a is required"]);
  assert.deepEqual(faultsOf(schema, { k: 2 }), ["data.b is required"]);
});
