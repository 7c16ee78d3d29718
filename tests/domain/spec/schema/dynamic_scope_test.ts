/** What a dynamic reference means while a validator enters and leaves resources. */

import assert from "node:assert/strict";
import { BudgetSpent, newBudget } from "../../../../src/domain/budget.ts";
import type { JsonObject } from "../../../../src/domain/json.ts";
import {
  createDynamicScope,
  dynamicResources,
} from "../../../../src/domain/spec/schema/dynamic_scope.ts";
import { runAtOnce } from "../../../../src/domain/fairness/pieces.ts";
import { findReferences } from "../../../../src/domain/spec/schema/references.ts";
import { createFaultList } from "../../../../src/domain/spec/fault_list.ts";
import { openCompiler } from "../../../support/compile_schema.ts";

/**
 * Functions 1 and 2 belong to one resource each, and both resources have "x"; 0 and 3 have
 * none.
 */
const plan = {
  anchorsOf: [undefined, new Map([["x", 1]]), new Map([["x", 2], ["y", 2]]), undefined],
};

Deno.test("the outermost resource that has the anchor says what it means, until it is left", () => {
  const scope = createDynamicScope(plan, newBudget(1_000));
  scope.begin();
  assert.equal(scope.enter(3, "x"), 3, "no resource has it: what the reference means by itself");
  scope.leave(3);
  assert.equal(scope.enter(2, null), 2);
  assert.equal(scope.enter(1, null), 1);
  assert.equal(scope.enter(1, "x"), 2);
  scope.leave(2);
  scope.leave(1);
  assert.equal(scope.enter(3, "y"), 2, "the outer one has not been left");
  scope.leave(2);
  scope.leave(2);
  assert.equal(scope.enter(1, "x"), 1);
});

Deno.test("a new value begins without what was left undone for the one before", () => {
  const scope = createDynamicScope(plan, newBudget(1_000));
  scope.begin();
  scope.enter(2, null);
  scope.begin();
  assert.equal(scope.enter(3, "x"), 3);
});

Deno.test("entering a resource is charged by the names that it gives a meaning", () => {
  const names = Array.from({ length: 100 }, (_, index): [string, number] => [`n${index}`, 0]);
  const scope = createDynamicScope({ anchorsOf: [new Map(names)] }, newBudget(100));
  assert.throws(() => scope.begin(), BudgetSpent);
});

Deno.test("only anchors that several schemas have and a reference asks for are planned", () => {
  const schema = (count: number): JsonObject => ({
    items: { $dynamicRef: "#x" },
    $defs: {
      a: { $dynamicAnchor: "x" },
      b: { $dynamicAnchor: "unused" },
      ...Object.fromEntries(
        Array.from({ length: count }, (_, index) => [
          `d${index}`,
          { $id: `d${index}`, $defs: { a: { $dynamicAnchor: "x" } } },
        ]),
      ),
    },
  });
  assert.equal(runAtOnce(dynamicResources(findReferences(schema(0)))).anchors.size, 0);
  const two = runAtOnce(dynamicResources(findReferences(schema(1))));
  assert.deepEqual(two.roots.map(({ pointer }) => pointer), ["/$defs/d0"]);
  assert.deepEqual(
    [...two.anchors.values()].map((names) => {
      return [...names].map(([name, { pointer }]) => [name, pointer]);
    }),
    [
      [["x", "/$defs/a"]],
      [["x", "/$defs/d0/$defs/a"]],
    ],
  );
  const faults = createFaultList();
  assert(openCompiler().compile(schema(49), "schema", faults));
  assert.equal(openCompiler().compile(schema(50), "schema", faults), undefined);
  assert.deepEqual(faults.faults.map(({ rule, path }) => [rule, path]), [
    ["schema_too_large", "schema.items.$dynamicRef"],
  ]);
});
