/** Data that is wrong throughout: the first faults are reported in order, then checking stops. */

import assert from "node:assert/strict";
import { newBudget } from "../../../../src/domain/budget.ts";
import type { JsonObject, JsonValue } from "../../../../src/domain/json.ts";
import { openCompiler } from "../../../support/compile_schema.ts";
import { createFaultList } from "../../../../src/domain/spec/fault_list.ts";

const PLENTY = 8_000_000;

function check(schema: JsonValue, data: JsonObject) {
  const validate = openCompiler().compile(schema, "schema", createFaultList());
  assert(validate);
  const work = newBudget(PLENTY);
  return { faults: validate(data, work), units: PLENTY - work.left };
}

const ITEMS = Array.from({ length: 50_000 }, () => 1);
const KEYED = Object.fromEntries(
  ITEMS.slice(0, 10_000).map((value, index) => [`k${index}`, value]),
);
const FIRST_ITEMS = Array.from({ length: 10 }, (_, index) => `data.a.${index}`);
const FIRST_KEYS = Array.from({ length: 10 }, (_, index) => `data.a.k${index}`);

const ALL_WRONG: readonly [string, JsonValue, JsonValue, readonly string[]][] = [
  ["items", { items: { type: "string" } }, ITEMS, FIRST_ITEMS],
  ["items behind a reference", { items: { $ref: "#/$defs/text" } }, ITEMS, FIRST_ITEMS],
  ["items after others", { prefixItems: [true], items: { type: "string" } }, ITEMS, [
    ...FIRST_ITEMS.slice(1),
    "data.a.10",
  ]],
  ["additionalProperties", { additionalProperties: { type: "string" } }, KEYED, FIRST_KEYS],
  ["additionalProperties that are none", { additionalProperties: false }, KEYED, FIRST_KEYS],
  ["patternProperties", { patternProperties: { "^k": { type: "string" } } }, KEYED, FIRST_KEYS],
  ["unevaluatedProperties", { unevaluatedProperties: { type: "string" } }, KEYED, FIRST_KEYS],
  ["unevaluatedProperties that are none", { unevaluatedProperties: false }, KEYED, FIRST_KEYS],
  ["unevaluatedItems", { unevaluatedItems: { type: "string" } }, ITEMS, FIRST_ITEMS],
  ["required", { required: Object.keys(KEYED).slice(0, 5_000) }, {}, FIRST_KEYS],
];

for (const [name, schema, value, paths] of ALL_WRONG) {
  Deno.test(`${name}: the first ten faults of data that is wrong throughout, at little cost`, () => {
    const whole = { properties: { a: schema }, $defs: { text: { type: "string" } } };
    const { faults, units } = check(whole, { a: value });
    assert.deepEqual(faults.map(({ path }) => path), paths);
    assert(units < 2_500_000, `${units}`);
  });
}

Deno.test("contains looks at every item, and finds the one that matches behind many others", () => {
  const schema = { properties: { a: { contains: { type: "string" } } } };
  assert.deepEqual(check(schema, { a: [...ITEMS, "x"] }).faults, []);
  assert.equal(check(schema, { a: ITEMS }).faults.length, 10);
  const counted = { properties: { a: { contains: { type: "string" }, minContains: 3 } } };
  assert.deepEqual(check(counted, { a: [...ITEMS, "x", 1, "y", 1, "z"] }).faults, []);
  assert.equal(check(counted, { a: [...ITEMS, "x", 1, "y"] }).faults.length, 10);
});

Deno.test("a form that fails in all of its items still lets another form match", () => {
  const forms = [{ items: { type: "string" } }, { items: { type: "integer" } }];
  assert.deepEqual(check({ properties: { a: { anyOf: forms } } }, { a: ITEMS }).faults, []);
  assert.deepEqual(check({ properties: { a: { oneOf: forms } } }, { a: ITEMS }).faults, []);
  assert.deepEqual(check({ properties: { a: { not: forms[0]! } } }, { a: ITEMS }).faults, []);
  assert.equal(check({ properties: { a: { not: forms[1]! } } }, { a: ITEMS }).faults.length, 1);
});

Deno.test("dependentRequired is charged for each name that it looks for", () => {
  const names = Array.from({ length: 1_000 }, (_, index) => `n${index}`);
  const schema = {
    allOf: Array.from({ length: 50 }, () => ({ $ref: "#/$defs/d" })),
    $defs: { d: { dependentRequired: { a: names } } },
  };
  const all = Object.fromEntries(names.map((name) => [name, 1]));
  const asked = check(schema, { ...all, a: 1 });
  assert.deepEqual(asked.faults, []);
  assert(asked.units > 50 * names.length, `${asked.units}`);
  assert(check(schema, all).units < 50_000);
});
