/** A deploy's warnings name everything that it cuts off. */

import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/domain/json.ts";
import type { Tenant } from "../../../src/domain/tenant.ts";
import type { Service } from "../../../src/features/service.ts";
import { valueOf, withService } from "../../support/service_fixture.ts";
import { settleProjections } from "../../support/settle_projections.ts";
import { shopSpec } from "../../support/projection_shop.ts";

const SPEC: JsonObject = {
  ...shopSpec(),
  singletons: ["main", "spare", "shadow"],
  agent_types: ["user", "admin"],
  target_types: ["region"],
};

const PROJECTION: JsonObject = {
  name: "orders_seen",
  for_each: "order",
  sources: { order: "$key", customer: { type: "customer", id: "$.order.customer" } },
  include: { config: "settings:main" },
  select: { name: "$.customer.name", currency: "$.config.currency" },
};

async function deploy(service: Service, tenant: Tenant, spec: JsonObject, dryRun = false) {
  return valueOf(await service.specs.deploySpec(tenant, { spec, force: true, dryRun })).warnings;
}

async function write(service: Service, tenant: Tenant, aggregateType: string, id: string) {
  const event = { type: aggregateType === "order" ? "was_placed" : "was_set", data: {} };
  valueOf(
    await service.data.writeEvents(tenant, {
      form: "single",
      targets: [{ aggregateType, id, events: [event] }],
      metadata: { actor: { type: "user", id: "global" } },
      requestId: "request-1",
    }),
  );
}

function withShop(body: (service: Service, tenant: Tenant) => Promise<void>): Promise<void> {
  return withService(async ({ service, tenants: { test } }) => {
    await deploy(service, test, SPEC);
    await body(service, test);
  });
}

Deno.test("a deploy names the projections that lose a type or a singleton, dry or not, and once", () =>
  withShop(async (service, tenant) => {
    valueOf(await service.projections.deploy(tenant, PROJECTION));
    valueOf(await service.projections.deploy(tenant, { ...PROJECTION, name: "again" }));
    const { customer: _, ...types } = SPEC.aggregate_types as JsonObject;
    const without = { ...SPEC, aggregate_types: types };
    for (const dryRun of [true, true, false]) {
      const warnings = await deploy(service, tenant, without, dryRun);
      assert.deepEqual(warnings.map(({ rule, path }) => [rule, path]), [
        ["projection_broken", "projections.again"],
        ["projection_broken", "projections.orders_seen"],
      ]);
      assert.equal(
        warnings[1]!.message,
        "Projection \"orders_seen\" breaks: sources.customer.type: Aggregate type 'customer' not " +
          "found in spec.",
      );
    }
    await settleProjections(service);
    const later = await deploy(service, tenant, { ...without, title: "Later" });
    assert.deepEqual(later, [], "it is broken already");
  }));

Deno.test("a deploy names the aggregates that a removed singleton cuts off", () =>
  withShop(async (service, tenant) => {
    valueOf(await service.projections.deploy(tenant, PROJECTION));
    await write(service, tenant, "order", "main");
    await write(service, tenant, "settings", "main");
    await write(service, tenant, "settings", "main");
    const warnings = await deploy(service, tenant, { ...SPEC, singletons: ["shadow"] });
    assert.deepEqual(warnings.map(({ rule, path }) => [rule, path]), [
      ["projection_broken", "projections.orders_seen"],
      ["singleton_removed", "singletons"],
      ["singleton_removed", "singletons"],
    ]);
    assert.equal(
      warnings[1]!.message,
      'Singleton "main" is removed: order:main (1 event), settings:main (2 events) can no longer ' +
        "be read or written, and it is no actor or target id.",
    );
    assert.match(warnings[2]!.message, /"spare" is removed: no aggregate of that id has events/);
  }));

Deno.test("a deploy names the agent and target types whose writers it refuses from now on", () =>
  withShop(async (service, tenant) => {
    const { target_types: _, ...rest } = SPEC;
    const warnings = await deploy(service, tenant, { ...rest, agent_types: ["user"] });
    assert.deepEqual(warnings.map(({ rule, message }) => [rule, /"(.*?)"/.exec(message)![1]]), [
      ["agent_type_removed", "admin"],
      ["target_type_removed", "region"],
    ]);
    assert.deepEqual(await deploy(service, tenant, SPEC), [], "nothing is cut off by adding");
  }));
