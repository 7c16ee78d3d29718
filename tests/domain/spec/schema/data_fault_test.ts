/**
 * Faults of a value that matches no form of a choice: the choice first, then the nearest form.
 */

import assert from "node:assert/strict";
import type { ErrorObject } from "ajv";
import { newBudget } from "../../../../src/domain/budget.ts";
import type { JsonObject, JsonValue } from "../../../../src/domain/json.ts";
import { openCompiler } from "../../../support/compile_schema.ts";
import { createFaultList } from "../../../../src/domain/spec/fault_list.ts";
import { describeDataFaults } from "../../../../src/domain/spec/schema/data_fault.ts";

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

/** The characters that escaping and splitting read meanwhile, and those that are joined. */
function charactersRead(run: () => void): number {
  const texts = String.prototype as unknown as Record<string, (...given: unknown[]) => unknown>;
  const originals = ["replace", "replaceAll", "split"].map((name) => [name, texts[name]!] as const);
  let count = 0;
  for (const [name, original] of originals) {
    texts[name] = function (this: string, ...given) {
      count += this.length;
      return original.apply(this, given);
    };
  }
  const { join } = Array.prototype;
  Array.prototype.join = function (...given) {
    const text = join.apply(this, given);
    count += text.length;
    return text;
  };
  try {
    run();
  } finally {
    Array.prototype.join = join;
    for (const [name, original] of originals) texts[name] = original;
  }
  return count;
}

const ITEM_SCHEMA: JsonValue = {
  additionalProperties: { items: { $ref: "#/$defs/number" } },
  $defs: { number: { type: "number" } },
};

Deno.test("a long key is escaped once, however many items are beneath it", () => {
  const validate = openCompiler().compile(ITEM_SCHEMA);
  assert(validate);
  validate({ a: [1] });
  const data = { ["~/".repeat(5_000)]: Array.from({ length: 1_000 }, () => 1) };
  const read = charactersRead(() => assert.deepEqual(validate(data), []));
  assert(read > 0 && read < 10_000, `${read} characters`);
});

Deno.test("keys stand in paths unescaped, and a long one is cut where the path is", () => {
  const long = "~/".repeat(5_000);
  const paths = faultsOf(ITEM_SCHEMA, { "a/b~c": [1, "x"], [long]: ["x"] });
  assert.deepEqual(paths, [
    "data.a/b~c.1 must be a number",
    `${`data.${long}`.slice(0, 497)}... must be a number`,
  ]);
});

Deno.test("each long key is charged when it is escaped, and none is kept after its event", () => {
  const validate = openCompiler().compile(ITEM_SCHEMA);
  assert(validate);
  const units = (data: JsonObject) => {
    const work = newBudget(5_000_000);
    validate(data, work);
    return 5_000_000 - work.left;
  };
  const key = "k".repeat(700);
  const [empty, full] = [units({ [key]: [] }), units({ [key]: [1] })];
  assert(full - empty > 16 * 600, `${full - empty} units`);
  assert.equal(units({ [key]: [1] }), full);
});

Deno.test("a fault that repeats is read in part and charged each time, and then cut off", () => {
  const error = { keyword: "type", params: { type: "string" }, schemaPath: "" };
  const instancePath = `/${"~1".repeat(40_000)}`;
  const errors = Array.from({ length: 5_000 }, () => ({ ...error, instancePath }) as ErrorObject);
  const budget = newBudget(200_000);
  const read = charactersRead(() => {
    const [fault, ...others] = describeDataFaults(errors, 10, budget);
    assert.deepEqual(fault, { path: `data.${"/".repeat(492)}...`, message: "must be a string" });
    assert.deepEqual(others, []);
  });
  assert(read < 500_000, `${read} characters`);
  assert(budget.left < 10_000, `${budget.left} units left`);
});

Deno.test("a long name is cut before it is put into the path and the message of its fault", () => {
  const [name, property] = ["m".repeat(100_000), "p".repeat(100_000)];
  const params = { missingProperty: name, property };
  const error = { keyword: "dependentRequired", instancePath: "/a", params } as unknown;
  const read = charactersRead(() => {
    const [fault] = describeDataFaults([error as ErrorObject], 10, newBudget(100_000));
    assert.deepEqual(fault, {
      path: `${`data.a.${name}`.slice(0, 497)}...`,
      message: `${`is required when ${property}`.slice(0, 297)}...`,
    });
  });
  assert(read < 5_000, `${read} characters`);
});
