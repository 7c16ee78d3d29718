/**
 * Deploys and versions of specs; the warnings of a deploy name everything that it cuts off. See
 * docs/reference/specs.md.
 */

import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/domain/json.ts";
import { limits } from "../../../src/domain/limits.ts";
import type { Tenant } from "../../../src/domain/tenant.ts";
import type { Service } from "../../../src/features/service.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import {
  openWatchedTypes,
  type WatchedTypes,
  watchTypes,
} from "../../../src/store/reactions/watched_types.ts";
import { copyOfExampleSpec, exampleSpec } from "../../support/example_spec.ts";
import { OLDER_SCHEMAS, olderSpec, storeOlderSpec } from "../../support/older_spec.ts";
import {
  noteWrite,
  orderWrite,
  refusalOf,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";
import { settleProjections } from "../../support/settle_projections.ts";
import { shopSpec } from "../../support/projection_shop.ts";

function deploy(service: Service, tenant: Tenant, spec: unknown, change = {}) {
  return service.specs.deploySpec(tenant, { spec, force: false, dryRun: false, ...change });
}

/** The example spec without its inventory: a blocked change. */
function withoutInventory(): JsonObject {
  const spec = copyOfExampleSpec();
  delete (spec.aggregate_types as JsonObject).inventory;
  delete spec.modules;
  return spec;
}

Deno.test("deploySpec() numbers versions and lists them, oldest first", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const second = { ...copyOfExampleSpec(), title: "Second" };
    const deployed = valueOf(await deploy(service, test, second));
    assert.equal(deployed.version, 2);
    assert.ok(deployed.changes.length > 0);
    const versions = valueOf(await service.specs.listSpecs(test)).data;
    assert.deepEqual(versions.map(({ version }) => version), [1, 2]);
    const current = valueOf(await service.specs.readSpec(test));
    assert.deepEqual([current.spec, current.spec_hash], [second, deployed.spec_hash]);
  });
});

Deno.test("deploySpec() of the current spec changes nothing, also with its keys in another order", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const reordered = Object.fromEntries(Object.entries(exampleSpec).reverse());
    const deployed = valueOf(await deploy(service, test, reordered));
    assert.deepEqual([deployed.version, deployed.changes], [1, []]);
    assert.equal(valueOf(await service.specs.listSpecs(test)).data.length, 1);
  });
});

Deno.test("deploySpec() refuses an invalid spec and keeps the current one", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    for (const spec of [undefined, null, [], "x", { agent_types: [] }]) {
      assert.equal(refusalOf(await deploy(service, test, spec)).kind, "spec_invalid");
    }
    assert.equal(valueOf(await service.specs.readSpec(test)).version, 1);
  });
});

Deno.test("deploySpec() refuses a blocked change everywhere", async () => {
  await withService(async ({ service, tenants }) => {
    for (const tenant of Object.values(tenants)) {
      const refusal = refusalOf(await deploy(service, tenant, withoutInventory()));
      assert.equal(refusal.kind, "spec_incompatible");
      assert.equal(valueOf(await service.specs.readSpec(tenant)).version, 1);
    }
  });
});

Deno.test("deploySpec() with force passes a blocked change on staging and test, never in production", async () => {
  await withService(async ({ service, tenants: { production, staging, test } }) => {
    for (const tenant of [staging, test]) {
      const forced = valueOf(await deploy(service, tenant, withoutInventory(), { force: true }));
      assert.equal(forced.version, 2);
    }
    const refusal = refusalOf(await deploy(service, production, exampleSpec, { force: true }));
    assert.equal(refusal.kind, "forbidden");
  });
});

Deno.test("deploySpec() as a dry run tells the outcome and deploys nothing", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const next = { ...copyOfExampleSpec(), title: "Next" };
    const dry = valueOf(await deploy(service, test, next, { dryRun: true }));
    assert.equal(dry.version, 2);
    assert.equal(valueOf(await service.specs.readSpec(test)).version, 1);
    const blocked = await deploy(service, test, withoutInventory(), { dryRun: true });
    assert.equal(refusalOf(blocked).kind, "spec_incompatible");
  });
});

Deno.test("deploySpec() lets exactly one of two incompatible deploys at once follow the other", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    // Whichever comes first, the other one lacks its type.
    const outcomes = await Promise.all(["parcel", "crate"].map((type) => {
      const added = copyOfExampleSpec();
      (added.aggregate_types as JsonObject)[type] = { events: {} };
      return deploy(service, test, added);
    }));
    assert.equal(outcomes.filter(({ ok }) => ok).length, 1);
    const current = valueOf(await service.specs.readSpec(test));
    assert.equal(current.version, 2);
  });
});

Deno.test("deploySpec() is in force for the very next write", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "a")));
    const spec = { ...copyOfExampleSpec(), agent_types: ["robot"] };
    valueOf(await deploy(service, test, spec));
    const refusal = refusalOf(await service.data.writeEvents(test, noteWrite(uuid(1), "b")));
    assert.equal(refusal.kind, "metadata_invalid");
  });
});

Deno.test("readSpec() of an environment without a spec is not found, and its types are unknown", async () => {
  await withService(async ({ service, access }) => {
    const instance = valueOf(await access.createInstance("empty", "unlimited"));
    const operator = { subject: "test" };
    const tenant = valueOf(await access.resolveTenant(operator, instance.id, "test"));
    const { readSpec, readSpecText, measureSpec } = service.specs;
    for (const read of [readSpec, readSpecText, measureSpec]) {
      assert.equal(refusalOf(await read(tenant)).kind, "not_found");
    }
    assert.deepEqual(valueOf(await service.specs.listSpecs(tenant)).data, []);
    const refusal = refusalOf(await service.data.writeEvents(tenant, noteWrite(uuid(1), "a")));
    assert.equal(refusal.kind, "aggregate_type_unknown");
  });
});

Deno.test("a spec that an older version took goes on working but for the types that are too large", async () => {
  for (const [schema, reason] of Object.values(OLDER_SCHEMAS)) {
    await withService(async ({ service, engine, tenants: { test } }) => {
      await storeOlderSpec(engine, test.number, olderSpec(schema));
      const boxed = orderWrite(uuid(1), [{ type: "was_boxed", data: {} }]);
      const refusal = refusalOf(await service.data.writeEvents(test, boxed));
      assert.ok(refusal.kind === "schema_validation");
      assert.match(refusal.faults[0]!.message, reason);
      valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "n")));
      assert.equal(valueOf(await service.specs.readSpec(test)).version, 2);
      // The same document again is a deploy, and a deploy must obey the limits.
      assert.equal(refusalOf(await deploy(service, test, olderSpec(schema))).kind, "spec_invalid");
      assert.equal(valueOf(await deploy(service, test, olderSpec({}))).version, 3);
      valueOf(await service.data.writeEvents(test, boxed));
    });
  }
});

/** A spec with event types of these names, all of which a saga awaits or a `cancel_on` has. */
function watchingSpec(sagas: readonly string[], cancels: readonly string[]): JsonObject {
  const emit = { aggregate_type: "order", id: "$.id", event_type: "was_noted" };
  const rules = cancels.map((event_type) => ({ aggregate_type: "order", id: "$.key", event_type }));
  const placed = { schedule: { delay: "1h", emit, cancel_on: rules } };
  const plain = { schema: true, handler: [] };
  const names = [...sagas, ...cancels, "was_noted"].map((name) => [name, plain]);
  const was_placed = { ...plain, implications: [placed] };
  const steps = [{
    name: "wait",
    emit,
    await: { aggregate_type: "order", event_types: [...sagas] },
  }];
  const waiting = { trigger: { aggregate_type: "order", event_type: "was_noted" }, steps };
  return {
    agent_types: ["user"],
    aggregate_types: { order: { events: { ...Object.fromEntries(names), was_placed } } },
    modules: { sagas: sagas.length === 0 ? {} : { waiting } },
  };
}

/** Has the environment watch `count` event types, as if older specs had named them. */
async function watchMany(engine: Engine, tenant: number, count: number): Promise<void> {
  const sagas = Array.from({ length: count }, (_, index) => `older.was_${index}`);
  await engine.transact(async (tx) => {
    watchTypes(tx, tenant, await openWatchedTypes().read(tx, tenant), { sagas });
  });
}

function readWatched(engine: Engine, tenant: number): Promise<WatchedTypes> {
  return engine.snapshot((tx) => openWatchedTypes().read(tx, tenant));
}

const EMPTY = { spec: watchingSpec([], []) };

Deno.test("deploySpec() refuses, dry or not, what would make an environment watch too many event types", async () => {
  await withService(async ({ service, engine, tenants: { test } }) => {
    const max = limits.watchedNamesMax;
    await watchMany(engine, test.number, max - 2);
    const specs = [
      ["modules.sagas", watchingSpec(["was_a", "was_b"], [])],
      ["modules.sagas", watchingSpec(["was_a"], ["was_b"])],
      ["aggregate_types", watchingSpec([], ["was_a", "was_b", "was_c"])],
    ] as const;
    for (const [path, spec] of specs) {
      for (const dryRun of [true, false]) {
        const refusal = refusalOf(await deploy(service, test, spec, { dryRun }));
        assert.ok(refusal.kind === "spec_invalid");
        const [fault, ...others] = refusal.violations;
        assert.deepEqual([fault!.rule, fault!.path, others], ["too_many", path, []]);
        assert.match(
          fault!.message,
          /at most 10000 .* so far they name 9998, and this spec adds 3/,
        );
      }
    }
    assert.equal(valueOf(await service.specs.readSpec(test)).version, 1);
    assert.equal((await readWatched(engine, test.number)).sagas.size, max - 2);
    // Its saga is shown its trigger, too: that fills the list.
    valueOf(await deploy(service, test, watchingSpec(["was_a"], [])));
    assert.equal((await readWatched(engine, test.number)).sagas.size, max);
  }, EMPTY);
});

Deno.test("deploySpec() counts what writes under the spec may add to the watched event types", async () => {
  await withService(async ({ service, engine, tenants: { test } }) => {
    await watchMany(engine, test.number, limits.watchedNamesMax - 2);
    valueOf(await deploy(service, test, watchingSpec([], ["was_a", "was_b"])));
    const placed = orderWrite(uuid(1), [{ type: "was_placed", data: {} }]);
    valueOf(await service.data.writeEvents(test, placed));
    assert.equal((await readWatched(engine, test.number)).cancels.size, 2);
    const other = await deploy(service, test, watchingSpec([], ["was_c"]), { force: true });
    assert.equal(refusalOf(other).kind, "spec_invalid");
  }, EMPTY);
});

Deno.test("an environment that watches more event types than fit takes writes, and specs that add none", async () => {
  await withService(async ({ service, engine, tenants: { test } }) => {
    const spec = watchingSpec(["was_a"], ["was_b", "was_c"]);
    valueOf(await deploy(service, test, spec));
    await watchMany(engine, test.number, limits.watchedNamesMax + 5);
    const changed = valueOf(await deploy(service, test, { ...spec, title: "Another" }));
    assert.equal(changed.version, 3);
    const events = ["was_placed", "was_noted", "was_a", "was_b"].map((type) => ({
      type,
      data: {},
    }));
    valueOf(await service.data.writeEvents(test, orderWrite(uuid(1), events)));
    assert.equal((await readWatched(engine, test.number)).cancels.size, 2);
    valueOf(await deploy(service, test, spec));
    const added = watchingSpec(["was_a"], ["was_b", "was_c", "was_d"]);
    assert.equal(refusalOf(await deploy(service, test, added)).kind, "spec_invalid");
  }, EMPTY);
});

Deno.test("a spec that an older version took keeps its many aggregate types and awaited events", async () => {
  await withService(async ({ service, engine, tenants: { test } }) => {
    const names = Array.from({ length: limits.sagaAwaitEventsMax + 1 }, (_, at) => `was_${at}`);
    const spec = watchingSpec(names, []);
    const types = Array.from(
      { length: limits.aggregateTypesMax },
      (_, at) => [`t${at}`, { events: {} }],
    );
    Object.assign(spec.aggregate_types as JsonObject, Object.fromEntries(types));
    await storeOlderSpec(engine, test.number, spec);
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "n")));
    const refusal = refusalOf(await deploy(service, test, spec));
    assert.ok(refusal.kind === "spec_invalid");
    assert.deepEqual(refusal.violations.map(({ rule, path }) => [rule, path]), [
      ["too_many", "aggregate_types"],
      ["too_many", "modules.sagas.waiting.steps[0].await.event_types"],
    ]);
    const smaller = watchingSpec(names.slice(1), []);
    assert.equal(valueOf(await deploy(service, test, smaller, { force: true })).version, 3);
  }, EMPTY);
});

Deno.test("listSpecs() reads a page from behind its start, and refuses a start that is no version", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    for (const title of ["a", "b"]) await deploy(service, test, { ...copyOfExampleSpec(), title });
    const first = valueOf(await service.specs.listSpecs(test, { limit: 2 }));
    assert.deepEqual(first.data.map(({ version }) => version), [1, 2]);
    assert.deepEqual([first.truncated, first.next_start], [true, "000000000002"]);
    const rest = valueOf(await service.specs.listSpecs(test, { start: first.next_start! }));
    assert.deepEqual(rest.data.map(({ version }) => version), [3]);
    assert.deepEqual([rest.truncated, rest.next_start], [false, undefined]);
    for (const start of ["2", "x", "0000000000002"]) {
      assert.equal(refusalOf(await service.specs.listSpecs(test, { start })).kind, "bad_request");
    }
  });
});

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

async function warningsOf(service: Service, tenant: Tenant, spec: JsonObject, dryRun = false) {
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
    await warningsOf(service, test, SPEC);
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
      const warnings = await warningsOf(service, tenant, without, dryRun);
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
    const later = await warningsOf(service, tenant, { ...without, title: "Later" });
    assert.deepEqual(later, [], "it is broken already");
  }));

Deno.test("a deploy names the aggregates that a removed singleton cuts off", () =>
  withShop(async (service, tenant) => {
    valueOf(await service.projections.deploy(tenant, PROJECTION));
    await write(service, tenant, "order", "main");
    await write(service, tenant, "settings", "main");
    await write(service, tenant, "settings", "main");
    const warnings = await warningsOf(service, tenant, { ...SPEC, singletons: ["shadow"] });
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
    const warnings = await warningsOf(service, tenant, { ...rest, agent_types: ["user"] });
    assert.deepEqual(warnings.map(({ rule, message }) => [rule, /"(.*?)"/.exec(message)![1]]), [
      ["agent_type_removed", "admin"],
      ["target_type_removed", "region"],
    ]);
    assert.deepEqual(await warningsOf(service, tenant, SPEC), [], "nothing is cut off by adding");
  }));
