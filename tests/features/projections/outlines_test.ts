/** Environments in which nothing is due cost their workers a few small reads, and no set. */

import assert from "node:assert/strict";
import { streamKey } from "../../../src/domain/identifier.ts";
import type { JsonObject } from "../../../src/domain/json.ts";
import { newCounters } from "../../../src/domain/measures/counters.ts";
import type { ProjectionPlace } from "../../../src/domain/projection/ready_projection.ts";
import type { Tenant } from "../../../src/domain/tenant.ts";
import { openSpecCache } from "../../../src/features/base/current_spec.ts";
import type { WorkShare } from "../../../src/features/base/share_work.ts";
import { createProjectionBuilder } from "../../../src/features/projections/build_projections.ts";
import { createProjectionKeeper } from "../../../src/features/projections/keep_projections.ts";
import { openOutlines } from "../../../src/features/projections/outlines.ts";
import { openProjectionSets } from "../../../src/features/projections/projection_sets.ts";
import { readReadyProjection } from "../../../src/store/projections/projections.ts";
import { addRefresh, addRetry } from "../../../src/store/projections/projection_work.ts";
import { type ServiceFixture, uuid, valueOf, withService } from "../../support/service_fixture.ts";
import { settleProjections } from "../../support/settle_projections.ts";
import { ORDERS_SEEN, writeShop } from "../../support/shop_projections.ts";
import { shopSpec } from "../../support/projection_shop.ts";

interface Watched extends ServiceFixture {
  /** The environments whose sets a second node asks for in one round of its keeper. */
  kept(): Promise<number[]>;
  /** The same of its builder. */
  built(): Promise<number[]>;
  /** What the second node finds due it cannot do: the service does it. */
  settle(): Promise<void>;
}

const SHARDS = Array.from({ length: 256 }, (_, shard) => ({ shard }));

async function withWatched(body: (watched: Watched) => Promise<void>): Promise<void> {
  await withService(async (fixture) => {
    const { service, engine, host, tenants } = fixture;
    for (const tenant of Object.values(tenants)) {
      valueOf(await service.projections.deploy(tenant, ORDERS_SEEN));
    }
    await settleProjections(service);
    const specs = openSpecCache(engine, host);
    const sets = openProjectionSets(engine, specs, host);
    const asked: number[] = [];
    const counted: typeof sets = {
      ...sets,
      current: (tenant) => (asked.push(tenant), sets.current(tenant)),
    };
    const parts = { engine, host, sets: counted, reader: {} as never, counters: newCounters() };
    const share = { held: () => Promise.resolve(SHARDS) } as unknown as WorkShare;
    const keeper = createProjectionKeeper(parts, share);
    const builder = createProjectionBuilder(parts, share);
    async function round(drain: () => Promise<number>): Promise<number[]> {
      // Who has failed, because this node cannot work, waits no longer.
      host.timeMs += 120_000;
      asked.length = 0;
      await drain();
      return asked.toSorted((a, b) => a - b);
    }
    await body({
      ...fixture,
      kept: () => round(() => keeper.drain(100)),
      built: () => round(() => builder.drain()),
      settle: () => settleProjections(service),
    });
    await specs.close();
  }, { spec: shopSpec() });
}

function place({ service, host }: Watched, tenant: Tenant, n: number): Promise<void> {
  return writeShop(service, tenant, {
    streams: new Map(),
    stream: ["order", uuid(n)],
    event: { type: "was_placed", data: { customer: uuid(500) } },
    nowMs: host.timeMs,
  });
}

function numbersOf({ tenants }: Watched): number[] {
  return Object.values(tenants).map(({ number }) => number).sort((a, b) => a - b);
}

Deno.test("a round asks for the sets of those environments alone in which something was written", async () => {
  await withWatched(async (watched) => {
    const { tenants: { test }, kept, settle } = watched;
    assert.deepEqual(await kept(), numbersOf(watched));
    assert.deepEqual(await kept(), []);
    await place(watched, test, 1);
    assert.deepEqual(await kept(), [test.number]);
    assert.deepEqual(await kept(), [test.number], "as long as it is not done");
    await settle();
    assert.deepEqual(await kept(), []);
    await place(watched, test, 2);
    assert.deepEqual(await kept(), [test.number]);
  });
});

Deno.test("what is deployed on another node is seen by the next round", async () => {
  await withWatched(async (watched) => {
    const { service, tenants: { test, staging }, kept, built, settle } = watched;
    for (const look of [kept, built]) await look();
    valueOf(await service.projections.deploy(test, { ...ORDERS_SEEN, name: "others" }));
    assert.deepEqual(await kept(), [test.number]);
    assert.deepEqual(await built(), [test.number]);
    await settle();
    for (const look of [kept, built]) {
      await look();
      assert.deepEqual(await look(), []);
    }
    const spec = shopSpec() as JsonObject & { agent_types: string[] };
    const changed = { ...spec, agent_types: [...spec.agent_types, "robot"] };
    const deploy = { spec: changed, force: true, dryRun: false };
    valueOf(await service.specs.deploySpec(staging, deploy));
    assert.deepEqual(await kept(), [staging.number]);
    assert.deepEqual(await built(), [staging.number]);
  });
});

async function readyPlace({ engine, tenants: { test } }: Watched): Promise<ProjectionPlace> {
  const ready = await engine.snapshot((tx) => readReadyProjection(tx, test.number, "orders_seen"));
  return ready!;
}

Deno.test("work on single versions is found without the set, when it is due", async () => {
  await withWatched(async (watched) => {
    const { engine, host, tenants: { test }, built, settle } = watched;
    assert.deepEqual(await built(), numbersOf(watched));
    assert.deepEqual(await built(), []);
    const ready = await readyPlace(watched);
    await engine.transact((tx) => addRefresh(tx, ready, streamKey("customer", uuid(500))));
    assert.deepEqual(await built(), [test.number]);
    await settle();
    assert.deepEqual(await built(), []);
    const dueMs = host.timeMs + 600_000;
    const retry = { dueMs, row: uuid(1) };
    await engine.transact((tx) => Promise.resolve(addRetry(tx, ready, retry, "it failed")));
    assert.deepEqual(await built(), []);
    host.timeMs = dueMs;
    assert.deepEqual(await built(), [test.number]);
  });
});

Deno.test("a set that is no longer current leaves nothing to go by", async () => {
  await withWatched(async ({ service, engine, host, tenants: { test }, settle }) => {
    const specs = openSpecCache(engine, host);
    const sets = openProjectionSets(engine, specs, host);
    const outlines = openOutlines(engine, host);
    const idle = () => Promise.resolve(false);
    const due = () => outlines.findDue([test.number], idle);
    const before = await sets.current(test.number);
    assert.deepEqual(await due(), [test.number]);
    await outlines.note(before);
    assert.deepEqual(await due(), []);
    valueOf(await service.projections.deploy(test, { ...ORDERS_SEEN, name: "others" }));
    await settle();
    await outlines.note(before);
    assert.deepEqual(await due(), [test.number]);
    sets.forget(test.number);
    const now = await sets.current(test.number);
    await outlines.note(now);
    assert.deepEqual(await due(), []);
    const spec = shopSpec() as JsonObject & { agent_types: string[] };
    const changed = { ...spec, agent_types: [...spec.agent_types, "robot"] };
    const deploy = { spec: changed, force: true, dryRun: false };
    valueOf(await service.specs.deploySpec(test, deploy));
    assert.deepEqual(await due(), [test.number]);
    const another = openOutlines(engine, host);
    await another.note(now);
    assert.deepEqual(await another.findDue([test.number], idle), [test.number]);
    await specs.close();
  });
});
