/** What it costs to gather what a schema says about one value. */

import assert from "node:assert/strict";
import { newBudget } from "../../../../src/domain/budget.ts";
import type { JsonValue } from "../../../../src/domain/json.ts";
import { findReferences, type Place } from "../../../../src/domain/spec/schema/references.ts";
import {
  type Detours,
  type SchemaAt,
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
