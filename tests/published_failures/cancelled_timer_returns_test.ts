/**
 * A timer is cancelled at the moment when it fires and fails, and the failure puts it back.
 *
 * Published by: Elsa.
 */

import assert from "node:assert/strict";
import type { JsonObject } from "../../src/domain/json.ts";
import type { Tenant } from "../../src/domain/tenant.ts";
import { heldEngine } from "../support/held_engine.ts";
import { poisonedEngine } from "../support/poisoned_engine.ts";
import { reactiveSpec, setOff, write } from "../support/reactive_spec.ts";
import { uuid, valueOf } from "../support/service_fixture.ts";
import type { Node } from "../support/two_nodes.ts";
import { countLeft, countNotes, withShop, workOn, writeAndDie } from "./shop.ts";

/** An unpaid promise is noted in a ledger after a minute. */
function notingSpec(): JsonObject {
  const spec = structuredClone(reactiveSpec);
  // deno-lint-ignore no-explicit-any
  const [{ schedule }] = (spec.aggregate_types as any).order.events.was_promised.implications;
  schedule.emit = { aggregate_type: "ledger", id: "$.id", event_type: "was_noted", data: {} };
  return spec;
}

const CANCELLATIONS: readonly {
  readonly name: string;
  cancel(node: Node, tenant: Tenant): Promise<unknown>;
}[] = [
  {
    name: "an event",
    cancel: ({ service }, tenant) => write(service, tenant, setOff(uuid(1), "was_paid")),
  },
  {
    name: "hand",
    async cancel({ service: { data } }, tenant) {
      const { data: [scheduled] } = valueOf(await data.listScheduled(tenant, {}));
      valueOf(await data.cancelScheduled(tenant, scheduled!.scheduled_id));
    },
  },
];

// elsa-workflows/elsa-extensions#194: a timer was unscheduled while it was being executed. The
// execution failed, and its retry was scheduled after the cancellation.
for (const { name, cancel } of CANCELLATIONS) {
  Deno.test(`cancelled by ${name} between its failure and its retry, a timer does not come back (Elsa)`, async () => {
    await withShop(async (shop) => {
      const { tenant } = shop;
      await writeAndDie(shop, setOff(uuid(1), "was_promised"));
      shop.pass(60_000);
      let poison: string | undefined = `ledger:${uuid(1)}`;
      const held = heldEngine(poisonedEngine(shop.engine, () => poison));
      const firing = shop.start(() => held);
      await firing.service.background.renewShare();
      const commit = held.hold();
      const working = workOn(firing);
      await commit.reached;
      const other = shop.start();
      await cancel(other, tenant);
      commit.release();
      await working;
      poison = undefined;
      shop.pass(600_000);
      await workOn(firing);
      assert.deepEqual(await countNotes(other, tenant, [1]), [0]);
      assert.deepEqual(valueOf(await other.service.data.listScheduled(tenant, {})).data, []);
      assert.equal(await countLeft(other), 0);
    }, notingSpec());
  });
}
