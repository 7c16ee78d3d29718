/**
 * Guards on two nodes: each write is judged on the states as both nodes have left them, however
 * old what one of them has cached.
 */

import assert from "node:assert/strict";
import type { JsonObject } from "../../src/domain/json.ts";
import type { Outcome } from "../../src/domain/refusal.ts";
import type { Tenant } from "../../src/domain/tenant.ts";
import type { WriteRequest, Written } from "../../src/domain/write/write.ts";
import { DOCTOR, guardedSpec } from "../support/guarded_spec.ts";
import { ACTOR, uuid, valueOf } from "../support/service_fixture.ts";
import type { Node, NodesTest, TwoNodes } from "../support/two_nodes.ts";

const SPEC: JsonObject = {
  ...guardedSpec,
  aggregate_types: { ...guardedSpec.aggregate_types as JsonObject, doctor: DOCTOR },
};

function write(
  key: string,
  type: string,
  data: JsonObject,
  change: Partial<WriteRequest> = {},
): WriteRequest {
  const [aggregateType = "", id = ""] = key.split(":");
  const targets = [{ aggregateType, id, events: [{ type, data }] }];
  return { form: "single", targets, metadata: { actor: ACTOR }, requestId: "r", ...change };
}

/** Deploys the spec, and waits until both nodes know it. */
async function deploy({ a, b, tenants: { test }, pass }: TwoNodes): Promise<void> {
  valueOf(await a.service.specs.deploySpec(test, { spec: SPEC, force: true, dryRun: false }));
  for (let tries = 0; tries < 200; tries++) {
    const sent = write(`doctor:${uuid(9_000)}`, "has_come", {});
    if ((await b.service.data.writeEvents(test, sent)).ok) return;
    pass(1_000);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.fail("node B never hears of the deploy");
}

function kinds(outcomes: readonly Outcome<unknown>[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const outcome of outcomes) {
    const kind = outcome.ok ? "written" : outcome.refusal.kind;
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}

function sender(tenant: Tenant) {
  return ({ service }: Node, request: WriteRequest): Promise<Outcome<Written>> =>
    service.data.writeEvents(tenant, request);
}

export function nodesGuardContract(test: NodesTest): void {
  test("of sixty-four sales on both just as many are written as there is stock", async (nodes) => {
    await deploy(nodes);
    const send = sender(nodes.tenants.test);
    const product = `product:${uuid(1)}`;
    valueOf(await send(nodes.a, write(product, "was_stocked", { quantity: 20 })));
    const outcomes = await Promise.all(
      Array.from({ length: 64 }, (_, index) => (
        send(index % 2 === 0 ? nodes.a : nodes.b, write(product, "was_sold", { quantity: 1 }))
      )),
    );
    assert.deepEqual(kinds(outcomes), { written: 20, guard_failed: 44 });
  });

  test("two writes that are judged on each other's aggregates never both pass", async (nodes) => {
    await deploy(nodes);
    const send = sender(nodes.tenants.test);
    for (let round = 0; round < 20; round++) {
      const [one, other] = [uuid(2 * round), uuid(2 * round + 1)];
      for (const id of [one, other]) {
        valueOf(await send(nodes.a, write(`doctor:${id}`, "has_come", {})));
      }
      const outcomes = await Promise.all([
        send(nodes.a, write(`doctor:${one}`, "has_left", { other })),
        send(nodes.b, write(`doctor:${other}`, "has_left", { other: one })),
      ]);
      assert.deepEqual(kinds(outcomes), { written: 1, guard_failed: 1 });
    }
  });

  test("a guard sees what the other node has just written to another aggregate", async (nodes) => {
    await deploy(nodes);
    const send = sender(nodes.tenants.test);
    const product = `product:${uuid(1)}`;
    for (let round = 0; round < 20; round++) {
      const data = { product_id: uuid(1), quantity: round + 1 };
      const place = write(`order:${uuid(100 + round)}`, "was_placed", data);
      assert.deepEqual(kinds([await send(nodes.b, place)]), { guard_failed: 1 });
      valueOf(await send(nodes.a, write(product, "was_stocked", { quantity: 1 })));
      assert.deepEqual(kinds([await send(nodes.b, place)]), { written: 1 });
    }
  });

  test("a name that must be free is taken once", async (nodes) => {
    await deploy(nodes);
    const send = sender(nodes.tenants.test);
    const name = `product:${uuid(7)}`;
    const preconditions = [{ key: name, exists: false }];
    const outcomes = await Promise.all(
      Array.from({ length: 16 }, (_, index) => (
        send(
          index % 2 === 0 ? nodes.a : nodes.b,
          write(name, "was_stocked", { quantity: 1 }, { preconditions }),
        )
      )),
    );
    assert.deepEqual(kinds(outcomes), { written: 1, precondition_failed: 15 });
  });
}
