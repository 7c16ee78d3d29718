/** A row computed in a process equals the row computed here: same states, steps and bytes. */

import assert from "node:assert/strict";
import { createComputeRunner, type RowTextStep } from "../../src/features/states/run_compute.ts";
import { openComputePool } from "../../src/compute/pool.ts";
import { newFoldBudget } from "../../src/domain/handler/budget.ts";
import type { JsonObject, JsonValue } from "../../src/domain/json.ts";
import { limits } from "../../src/domain/limits.ts";
import { compileProjection } from "../../src/domain/projection/compile.ts";
import { advanceRow } from "../../src/domain/projection/row.ts";
import { compileSpec } from "../../src/domain/spec/compile.ts";
import type { StreamKey } from "../../src/domain/identifier.ts";
import { shopSpec } from "../support/projection_shop.ts";
import { refusalOf, valueOf, withService } from "../support/service_fixture.ts";

const ORDER = "7KD2M9QXA";
const STATES: Readonly<Record<string, JsonValue>> = {
  [`order:${ORDER}`]: { customer: "CV5T0MERA", total: 34, lines: [{ qty: 2 }, { qty: 3 }] },
  "customer:CV5T0MERA": { name: "Ada é😀", note: "x".repeat(600_000) },
  "settings:main": null,
};

function compile(select: JsonObject) {
  const spec = compileSpec(shopSpec());
  assert.ok(spec.ok);
  const compiled = compileProjection({
    name: "orders_seen",
    for_each: "order",
    include: { config: "settings:main" },
    sources: { customer: { type: "customer", id: "$.order.customer" }, order: "$key" },
    select,
  }, spec.spec);
  assert.ok(compiled.ok, JSON.stringify(compiled));
  return compiled.projection;
}

Deno.test("a row is computed in a process step by step, as here", async () => {
  await withService(async ({ engine, host, tenants: { test } }) => {
    const pool = openComputePool({ runners: 2, onFault: assert.fail });
    const { advanceRow: advance } = createComputeRunner(engine, host, pool);
    const projection = compile({
      name: "$.customer.name",
      total: { path: "$.order.total", type: "number" },
      pieces: { $sum: "$.order.lines[*].qty" },
      currency: "$.config.currency",
    });
    const texts = new Map<StreamKey, string | null>();
    const known = new Map<StreamKey, JsonValue>();
    let there: RowTextStep | undefined;
    try {
      while (there?.kind !== "data") {
        const here = advanceRow(projection, ORDER, (key) => known.get(key), newFoldBudget());
        there = valueOf(await advance(test.number, { projection, key: ORDER, states: texts }));
        if (there.kind === "data") break;
        assert.deepEqual(there, here);
        for (const stream of there.streams) {
          const state = STATES[stream]!;
          known.set(stream, state);
          texts.set(stream, state === null ? null : JSON.stringify(state));
        }
      }
      const row = { name: "Ada é😀", total: 34, pieces: 5, currency: null };
      assert.equal(there.dataJson, JSON.stringify(row));
      const large = compile({ a: "$.customer.note", b: "$.customer.note" });
      const order = { projection: large, key: ORDER, states: texts };
      const refusal = refusalOf(await advance(test.number, order));
      assert.equal(refusal.kind, "fold_budget_exceeded");
      assert.ok("limit" in refusal && refusal.limit === limits.rowBytesMax);
    } finally {
      await pool.close();
    }
  });
});
