/** What it costs to gather what a schema says about one value. */

import assert from "node:assert/strict";
import { newBudget } from "../../../../src/domain/budget.ts";
import { runAtOnce } from "../../../../src/domain/fairness/pieces.ts";
import type { JsonValue } from "../../../../src/domain/json.ts";
import { findReferences, type Place } from "../../../../src/domain/spec/schema/references.ts";
import {
  type Detours,
  type SchemaAt,
  viewSchema,
  withoutDetour,
} from "../../../../src/domain/spec/schema/view.ts";

/** Schemas of one document by their pointers, and how often their references were asked for. */
function openSchema(schema: JsonValue): { at(pointer: string): SchemaAt; asked(): number } {
  const found = findReferences(schema);
  let asked = 0;
  const targetsOf = (place: Place) => {
    asked++;
    return found.targetsOf(place);
  };
  const references = { ...found, targetsOf };
  return {
    at: (pointer) => ({ references, place: found.places.get(pointer)! }),
    asked: () => asked,
  };
}

Deno.test("withoutDetour() follows each schema once, whichever one it begins at, and is charged", () => {
  const chain = Array.from({ length: 90 }, (_, index) => [
    `d${index}`,
    index === 89 ? { type: "string" } : { $ref: `#/$defs/d${index + 1}` },
  ]);
  const { at, asked } = openSchema({ $defs: Object.fromEntries(chain) });
  const detours: Detours = new Map();
  const budget = newBudget(1_000_000);
  for (const first of ["/$defs/d40", "/$defs/d0", "/$defs/d0", "/$defs/d20"]) {
    assert.equal(withoutDetour(at(first), detours, budget).place, at("/$defs/d89").place);
  }
  assert.equal(asked(), 89);
  assert.ok(1_000_000 - budget.left >= 90, `${budget.left} units left`);
});

Deno.test("withoutDetour() stays where it is if the way leads back to itself", () => {
  const { at } = openSchema({ $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } });
  const detours: Detours = new Map();
  for (const pointer of ["/$defs/a", "/$defs/b"]) {
    assert.equal(
      withoutDetour(at(pointer), detours, newBudget(1_000)).place,
      at(pointer).place,
    );
  }
});

function openViewing() {
  return { budget: newBudget(1_000_000), views: new Map() };
}

Deno.test("viewSchema() asks each schema for its types once, and pauses there, whatever leads to it", () => {
  const { at, asked } = openSchema({
    anyOf: Array.from({ length: 200 }, () => ({ $ref: "#/$defs/x" })),
    $defs: { x: { allOf: [...Array.from({ length: 100 }, () => ({})), { type: "string" }] } },
  });
  const viewing = openViewing();
  const steps = viewSchema(at(""), viewing);
  let step = steps.next();
  for (let before = 0; !step.done; before = asked(), step = steps.next()) {
    assert.ok(asked() - before <= 3, `${asked() - before} schemas in one step`);
  }
  assert.deepEqual(step.value.types, new Set(["string"]));
  assert.ok(asked() < 2 * 300, `${asked()} times`);
  assert.ok(viewing.budget.left > 1_000_000 - 300 * 128, `${viewing.budget.left} units left`);
});

Deno.test("viewSchema() reads a schema once for all who look at it", () => {
  const { at, asked } = openSchema({ allOf: [{ type: "object" }, { required: ["a"] }] });
  const viewing = openViewing();
  const first = runAtOnce(viewSchema(at(""), viewing));
  const before = asked();
  assert.equal(runAtOnce(viewSchema(at(""), viewing)), first);
  assert.equal(asked(), before);
});

Deno.test("viewSchema() takes the types of a choice only if each form tells, and of parts what all allow", () => {
  const cases: [JsonValue, string[] | undefined][] = [
    [{ anyOf: [{ type: "string" }, { allOf: [{}, { const: 1 }] }] }, ["string", "integer"]],
    [{ anyOf: [{ type: "string" }, {}] }, undefined],
    [{ anyOf: [{}], oneOf: [{ enum: [null, true] }] }, ["null", "boolean"]],
    [{ allOf: [{ type: ["string", "null"] }, { anyOf: [{ type: "null" }] }] }, ["null"]],
    [{
      anyOf: [{ properties: {}, anyOf: [{ $ref: "#/$defs/a" }] }],
      $defs: { a: { type: "array" } },
    }, ["array"]],
  ];
  for (const [schema, types] of cases) {
    const view = runAtOnce(viewSchema(openSchema(schema).at(""), openViewing()));
    assert.deepEqual(view.types && [...view.types], types, JSON.stringify(schema));
  }
});

for (const keyword of ["properties", "required", "dependentRequired"]) {
  Deno.test(`viewSchema() is charged for the characters of a long name under ${keyword}`, () => {
    const name = "n".repeat(10_000);
    const values: Record<string, JsonValue> = {
      properties: { [name]: true },
      required: [name],
      dependentRequired: { a: [name] },
    };
    const viewing = openViewing();
    runAtOnce(viewSchema(openSchema({ [keyword]: values[keyword]! }).at(""), viewing));
    assert.ok(viewing.budget.left < 990_000, `${viewing.budget.left} units left`);
  });
}
