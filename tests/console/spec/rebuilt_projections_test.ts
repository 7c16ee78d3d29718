/** Which projections a deploy rebuilds, by the rules of the reference of projections. */

import assert from "node:assert/strict";
import { rebuiltProjections } from "../../../console/src/spec/rebuilt_projections.ts";
import type { JsonObject } from "../../../src/domain/json.ts";

function set(target: string) {
  return { set: { target, value: true } };
}

const SPEC = {
  singletons: ["main", "other"],
  aggregate_types: {
    order: { events: { was_placed: { schema: {}, handler: [set("a")] } } },
    customer: { events: { was_added: { schema: {}, handler: [set("b")] } } },
    settings: { events: { was_changed: { schema: {}, handler: [set("c")] } } },
    stock: { events: { was_counted: { schema: {} } } },
  },
};
const PROJECTIONS = [
  { name: "orders", for_each: "order", sources: { order: "$key" } },
  { name: "names", for_each: "order", sources: { who: { type: "customer", id: "$.order.by" } } },
  { name: "rates", for_each: "stock", include: { all: "settings:main" } },
].map((projection) => ({ name: projection.name, projection }));

function rebuilt(change: (spec: typeof SPEC) => void): readonly string[] {
  const after = structuredClone(SPEC);
  change(after);
  return rebuiltProjections(SPEC as JsonObject, after as JsonObject, PROJECTIONS);
}

Deno.test("rebuiltProjections() names those that show a type with another handler", () => {
  const types = (spec: typeof SPEC) => spec.aggregate_types as Record<string, { events: object }>;
  const change = (type: string, event: string) =>
    rebuilt((spec) =>
      Object.assign(types(spec)[type]!.events, { [event]: { handler: [set("z")] } })
    );
  assert.deepEqual(change("order", "was_placed"), ["orders", "names"]);
  assert.deepEqual(change("customer", "was_added"), ["names"]);
  assert.deepEqual(change("settings", "was_changed"), ["rates"]);
  // A new event type folds, too; one without a handler does not.
  assert.deepEqual(change("stock", "was_moved"), ["rates"]);
  assert.deepEqual(
    rebuilt((spec) => Object.assign(types(spec).order!.events, { was_seen: { schema: {} } })),
    [],
  );
});

Deno.test("rebuiltProjections() names all where the singletons are others, not another order of them", () => {
  assert.deepEqual(rebuilt((spec) => spec.singletons.reverse()), []);
  assert.deepEqual(rebuilt((spec) => spec.singletons.pop()), ["orders", "names", "rates"]);
});

Deno.test("rebuiltProjections() names none for a schema or the order of keys, nor what is broken", () => {
  assert.deepEqual(
    rebuilt((spec) => {
      const { was_placed } = spec.aggregate_types.order.events;
      Object.assign(was_placed as object, { schema: { type: "object" } });
      spec.aggregate_types.order.events = { was_placed };
    }),
    [],
  );
  assert.deepEqual(
    rebuilt((spec) => {
      spec.singletons = [];
      Reflect.deleteProperty(spec.aggregate_types, "customer");
    }),
    ["orders", "rates"],
  );
});
