/** The row that results from the states of its sources. */

import assert from "node:assert/strict";
import { BudgetSpent, newBudget } from "../../../src/domain/budget.ts";
import { newFoldBudget } from "../../../src/domain/handler/budget.ts";
import { StateTooLarge } from "../../../src/domain/handler/handler.ts";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";
import { limits } from "../../../src/domain/limits.ts";
import { compileProjection } from "../../../src/domain/projection/compile.ts";
import type { CompiledProjection } from "../../../src/domain/projection/definition.ts";
import { advanceRow, hasRow, ownRowOf } from "../../../src/domain/projection/row.ts";
import { compileSpec } from "../../../src/domain/spec/compile.ts";
import { type StreamKey, streamKey } from "../../../src/domain/identifier.ts";
import { readGolden } from "../../support/golden_cases.ts";
import { shopSpec } from "../../support/projection_shop.ts";

interface RowCase {
  readonly name: string;
  /** Replaces fields of the order below. */
  readonly order?: JsonObject;
  readonly select: JsonObject;
  readonly row: JsonObject;
}

const ORDER = "7KD2M9QXA";
const STATES: Readonly<Record<string, JsonValue>> = {
  [`order:${ORDER}`]: {
    status: "placed",
    customer: "CV5T0MERA",
    total: 34,
    lines: [{ sku: "A", qty: 2 }, { sku: "B", qty: 3 }],
    products: ["PR0DVCTA1", "PR0DVCTB1"],
  },
  "customer:CV5T0MERA": { name: "Ada", referrer: "CV5T0MERB" },
  "customer:CV5T0MERB": { name: "Bob" },
  "product:PR0DVCTA1": { sku: "A", name: "Tea", price: 12.5 },
  "product:PR0DVCTB1": { sku: "B", name: "Mug", price: 9 },
  "settings:main": { currency: "EUR" },
};

function compile(select: JsonObject, change: JsonObject = {}): CompiledProjection {
  const spec = compileSpec(shopSpec());
  assert.ok(spec.ok);
  const compiled = compileProjection({
    name: "orders_seen",
    for_each: "order",
    include: { config: "settings:main" },
    sources: {
      referrer: { type: "customer", id: "$.customer.referrer" },
      customer: { type: "customer", id: "$.order.customer" },
      products: { type: "product", id: "$.order.products", mode: "array" },
      order: "$key",
    },
    select,
    ...change,
  }, spec.spec);
  assert.ok(compiled.ok, JSON.stringify(compiled));
  return compiled.projection;
}

function rowOf(projection: CompiledProjection, states: Readonly<Record<string, JsonValue>>) {
  const step = advanceRow(projection, ORDER, (stream) => states[stream] ?? null, newFoldBudget());
  assert.ok(step.kind === "data");
  return step.data;
}

for (const { name, order, select, row } of readGolden<RowCase>("projections/rows.json")) {
  Deno.test(`advanceRow(): ${name}`, () => {
    const own = { ...STATES[`order:${ORDER}`] as JsonObject, ...order };
    const data = rowOf(compile(select), { ...STATES, [`order:${ORDER}`]: own });
    assert.equal(JSON.stringify(data), JSON.stringify(row), "fields in the order of select, too");
  });
}

Deno.test("advanceRow() tells step by step what a row reads, also what has no events", () => {
  const projection = compile({ a: "$.key" });
  const known = new Map<StreamKey, JsonValue>();
  const streams = new Set<StreamKey>();
  for (let steps = 0; steps < 5; steps++) {
    const step = advanceRow(projection, ORDER, (stream) => known.get(stream), newFoldBudget());
    if (step.kind === "data") break;
    for (const stream of step.streams) {
      streams.add(stream);
      known.set(stream, stream === "customer:CV5T0MERA" ? null : STATES[stream]!);
    }
  }
  assert.deepEqual([...streams].sort(), [
    "customer:CV5T0MERA",
    `order:${ORDER}`,
    "product:PR0DVCTA1",
    "product:PR0DVCTB1",
    "settings:main",
  ]);
});

Deno.test("a row that takes more than its budget is not computed", () => {
  const projection = compile({ a: { $map: "$.order.lines", to: "$item" } });
  const states = (stream: StreamKey) => STATES[stream] ?? null;
  assert.throws(() => advanceRow(projection, ORDER, states, newBudget(500)), BudgetSpent);
});

Deno.test("columns are charged by what they show, though they are no copies", () => {
  const columns = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`c${n}`, "$.order"]));
  const budgets = [compile({ a: "$.order" }), compile(columns)].map((projection) => {
    const budget = newFoldBudget();
    advanceRow(projection, ORDER, (stream) => STATES[stream] ?? null, budget);
    return newFoldBudget().left - budget.left;
  });
  assert.ok(budgets[1]! > 20 * budgets[0]!, `${budgets}`);
});

Deno.test("a row of more aggregates than the limit is refused", () => {
  const projection = compile({ a: { $count: "$.products" } });
  const withProducts = (count: number) => ({
    [`order:${ORDER}`]: { products: Array.from({ length: count }, () => "PR0DVCTA1") },
  });
  assert.deepEqual(rowOf(projection, withProducts(limits.rowSourcesMax)), {
    a: limits.rowSourcesMax,
  });
  assert.throws(() => rowOf(projection, withProducts(limits.rowSourcesMax + 1)), StateTooLarge);
});

Deno.test("ids with a tag have rows only where the definition says so", () => {
  const id = "5b3e1a7c-9d24-4f6a-8b1e-000000000001";
  const without = compile({ a: "$.key" });
  const within = compile({ a: "$.key" }, { include_substreams: true });
  assert.deepEqual([hasRow(without, id), hasRow(without, `${id}:gift`)], [true, false]);
  assert.deepEqual([hasRow(within, id), hasRow(within, `${id}:gift`)], [true, true]);
  assert.equal(ownRowOf(without, streamKey("order", id)), id);
  assert.equal(ownRowOf(without, streamKey("order", `${id}:gift`)), undefined);
  assert.equal(ownRowOf(within, streamKey("customer", id)), undefined, "of another type");
});
