/** Upkeep of projections, and what can go wrong: poison, wide changes, processes that race. */

import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/domain/json.ts";
import { limits } from "../../../src/domain/limits.ts";
import type { Service } from "../../../src/features/service.ts";
import { waitForProjections } from "../../../src/features/projections/wait_for_projections.ts";
import { keyAfter, keys } from "../../../src/store/keys.ts";
import { NODE_STORES } from "../../support/node_stores.ts";
import { parsedIn } from "../../support/parsed_json.ts";
import { type ServiceFixture, uuid, valueOf, withService } from "../../support/service_fixture.ts";
import { settleProjections } from "../../support/settle_projections.ts";
import {
  holdRows,
  ORDERS_SEEN,
  type ShopStreams,
  storedRows,
  writeShop,
} from "../../support/shop_projections.ts";
import { withTwoNodes } from "../../support/two_nodes.ts";
import { type ShopEvent, shopSpec } from "../../support/projection_shop.ts";

interface Shop extends ServiceFixture {
  readonly streams: ShopStreams;
  write(type: string, id: string, event: ShopEvent): Promise<void>;
}

function withShop(body: (shop: Shop) => Promise<void>, definition = ORDERS_SEEN): Promise<void> {
  return withService(async (fixture) => {
    const streams: ShopStreams = new Map();
    const { service, tenants: { test }, host } = fixture;
    valueOf(await service.projections.deploy(test, definition));
    const write: Shop["write"] = (type, id, event) =>
      writeShop(service, test, { streams, stream: [type, id], event, nowMs: host.timeMs });
    await body({ ...fixture, streams, write });
  }, { spec: shopSpec() });
}

function placed(customer: string): ShopEvent {
  return { type: "was_placed", data: { customer } };
}

function named(name: string, referrer: string | null = null): ShopEvent {
  return { type: "was_registered", data: { name, referrer } };
}

Deno.test("a change of a customer refreshes the orders that show it, also by way of another", async () => {
  await withShop(async ({ service, engine, tenants: { test }, streams, write }) => {
    await write("order", uuid(1), placed(uuid(11)));
    await write("order", uuid(2), placed(uuid(12)));
    await write("customer", uuid(11), named("Ada", uuid(12)));
    await settleProjections(service);
    await write("customer", uuid(12), named("Bob"));
    assert.equal(await service.projections.keepProjections(100), 1);
    await holdRows(engine, test, streams);
    const rows = await storedRows(engine, test);
    assert.deepEqual(rows.map(({ data }) => data?.referrer), ["Bob", null]);
  });
});

/** Makes a row larger than a row may be. */
const LARGE_LINE = "x".repeat(90_000);
const LINES = 12;
const WITH_LINES: JsonObject = {
  ...ORDERS_SEEN,
  select: { customer: "$.order.customer", lines: "$.order.lines" },
};

Deno.test("a row that cannot be computed keeps what it had, says why, and holds up no other", async () => {
  await withShop(async ({ service, engine, host, tenants: { test }, write }) => {
    await write("order", uuid(1), placed(uuid(11)));
    await settleProjections(service);
    for (let n = 0; n < LINES; n++) {
      await write("order", uuid(1), { type: "had_line_added", data: { line: LARGE_LINE } });
    }
    await write("order", uuid(2), placed(uuid(12)));
    await settleProjections(service);
    const [poison, other] = await storedRows(engine, test);
    assert.deepEqual(poison?.data, { customer: uuid(11), lines: null }, "as it was before");
    assert.equal(poison?.position, 1);
    assert.match(poison?.error?.message ?? "", /The row has \d+ bytes/);
    assert.deepEqual(other?.data, { customer: uuid(12), lines: null });
    const { error_id } = poison!.error!;
    const record = valueOf(await service.data.readError(test, error_id));
    assert.deepEqual(record.context, {
      operation: "refresh_projection",
      projection: "orders_seen",
      key: uuid(1),
    });

    // Retried after ever longer pauses, under the same record.
    for (const tries of [2, 3, 4]) {
      host.timeMs += limits.rowRetryMsMin * 2 ** tries;
      await settleProjections(service);
      const { error } = (await storedRows(engine, test))[0]!;
      assert.deepEqual([error?.tries, error?.error_id], [tries, error_id]);
    }
    const [status] = valueOf(await service.projections.list(test)).data;
    assert.equal(status?.failed_rows, 1);
    assert.match(status?.last_error ?? "", /The row has/);

    await write("order", uuid(1), placed(uuid(13)));
    await settleProjections(service);
    const [healed] = await storedRows(engine, test);
    assert.equal(healed?.error, undefined);
    assert.deepEqual(healed?.data, { customer: uuid(13), lines: null });
    assert.equal(valueOf(await service.projections.list(test)).data[0]?.failed_rows, 0);
  }, WITH_LINES);
});

Deno.test("projections are listed without a look at the large rows that have failed", async () => {
  await withShop(async ({ service, tenants: { test }, write }) => {
    const add = () =>
      write("order", uuid(1), { type: "had_line_added", data: { line: LARGE_LINE } });
    await write("order", uuid(1), placed(uuid(11)));
    for (let n = 0; n < LINES - 1; n++) await add();
    await settleProjections(service);
    await add();
    await settleProjections(service);
    const parsed = await parsedIn(async () => {
      const status = await service.projections.show(test, "orders_seen");
      assert.equal(status?.failed_rows, 1);
      assert.match(status?.last_error ?? "", /The row has/);
      assert.equal(await service.projections.show(test, "others"), undefined);
    });
    const longest = Math.max(...parsed);
    assert.ok(longest < LARGE_LINE.length, `${longest} characters are parsed at once`);
  }, WITH_LINES);
});

Deno.test("a row that never could be computed is there without data, until it can be", async () => {
  await withShop(async ({ service, engine, tenants: { test }, write }) => {
    await write("order", uuid(1), placed(uuid(11)));
    for (let n = 0; n < LINES; n++) {
      await write("order", uuid(1), { type: "had_line_added", data: { line: LARGE_LINE } });
    }
    await settleProjections(service);
    const request = { name: "orders_seen", key: uuid(1), synchronous: false };
    const row = valueOf(await service.projections.readRow(test, request));
    assert.equal(row.dataJson, "null");
    assert.equal(row.metadata.error?.error_type, "fold_budget_exceeded");
    await write("order", uuid(1), placed(uuid(11)));
    await settleProjections(service);
    assert.deepEqual((await storedRows(engine, test))[0]?.data, {
      customer: uuid(11),
      lines: null,
    });
  }, WITH_LINES);
});

Deno.test("of many large rows that are read together, each has a turn of its own", async () => {
  await withShop(async ({ service, host, tenants: { test }, write }) => {
    const request = { name: "orders_seen", key: uuid(1), synchronous: false };
    await write("order", uuid(1), placed(uuid(11)));
    async function turnsOfReads(): Promise<number> {
      await settleProjections(service);
      const { yieldTurn } = host;
      let turns = 0;
      const counted = { yieldTurn: () => (turns++, yieldTurn()) };
      Object.assign(host, counted);
      const reads = Array.from({ length: 20 }, () => service.projections.readRow(test, request));
      await Promise.all(reads.map(async (read) => valueOf(await read)));
      Object.assign(host, { yieldTurn });
      return turns;
    }
    assert.equal(await turnsOfReads(), 0);
    await write("order", uuid(1), { type: "had_line_added", data: { line: LARGE_LINE } });
    assert.equal(await turnsOfReads(), 20);
  }, WITH_LINES);
});

Deno.test("what very many rows show is refreshed step by step, and waited for", async () => {
  await withShop(async ({ service, engine, host, tenants: { test }, streams, write }) => {
    const lag = async () =>
      (await waitForProjections(engine, host, { tenant: test.number, waitMs: 0 })).commits;
    for (let n = 0; n < 501; n++) await write("order", uuid(1_000 + n), placed(uuid(11)));
    await settleProjections(service);
    assert.equal(await lag(), 0);
    await write("customer", uuid(11), named("Ada"));
    assert.equal(await lag(), 1);
    await service.projections.keepProjections(100);
    assert.ok(await lag() > 0, "no commit waits, but rows do");
    await service.projections.buildProjections();
    await write("customer", uuid(11), named("Bob"));
    await write("settings", "main", { type: "was_set", data: { currency: "EUR" } });
    await settleProjections(service);
    assert.equal(await lag(), 0);
    await holdRows(engine, test, streams);
  });
});

Deno.test("a projection whose type is gone from the spec stands still, and is built anew when it is back", async () => {
  await withShop(async ({ service, engine, tenants: { test }, streams, write }) => {
    await write("order", uuid(1), placed(uuid(11)));
    await settleProjections(service);
    const whole = shopSpec();
    const { settings: _, ...types } = whole.aggregate_types as JsonObject;
    const deploy = (spec: JsonObject) =>
      service.specs.deploySpec(test, { spec, force: true, dryRun: false });
    valueOf(await deploy({ ...whole, aggregate_types: types }));
    await write("order", uuid(1), placed(uuid(12)));
    await settleProjections(service);
    const [broken] = valueOf(await service.projections.list(test)).data;
    assert.equal(broken?.state, "broken");
    assert.match(broken?.last_error ?? "", /include.config: Aggregate type 'settings' not found/);
    assert.equal((await storedRows(engine, test))[0]?.position, 1, "its old rows can be read");
    valueOf(await deploy(whole));
    await settleProjections(service);
    assert.equal(valueOf(await service.projections.list(test)).data[0]?.state, "ready");
    await holdRows(engine, test, streams);
  });
});

Deno.test("a deploy that changes many projections brings 25 of them to the spec at a time", async () => {
  await withShop(async ({ service, tenants: { test } }) => {
    for (let n = 1; n < 30; n++) {
      const document = { ...ORDERS_SEEN, name: `orders_seen_${n}` };
      valueOf(await service.projections.deploy(test, document));
    }
    await settleProjections(service);
    const spec = { ...shopSpec(), singletons: ["main", "other"] };
    valueOf(await service.specs.deploySpec(test, { spec, force: false, dryRun: false }));
    const settled = [];
    for (let round = 0; round < 2; round++) {
      settled.push(await service.projections.keepProjections(100));
    }
    assert.deepEqual(settled, [25, 5]);
    await settleProjections(service);
    const versions = valueOf(await service.projections.list(test)).data.map(({ version }) =>
      version
    );
    assert.deepEqual(versions, new Array(30).fill(2));
  });
});

Deno.test("rows that are not what their events say are found before the switch, and built again", async () => {
  await withShop(async ({ service, engine, host, tenants: { test }, streams, write }) => {
    await write("order", uuid(1), placed(uuid(11)));
    await service.projections.keepProjections(100);
    await service.projections.buildProjections();
    // As a fault of the disk or of the service would leave it.
    await engine.transact(async (tx) => {
      const [row] = await tx.getRange(keys.projectionRows(test.number, 1, 1));
      const text = new TextDecoder().decode(row!.value).replace(
        `{"customer":"${uuid(11)}"`,
        `{"customer":"${uuid(19)}"`,
      );
      tx.set(row!.key, new TextEncoder().encode(text));
    });
    await service.projections.buildProjections();
    const [wrong] = valueOf(await service.projections.list(test)).data;
    assert.equal(wrong?.state, "building");
    assert.match(wrong?.last_error ?? "", /were not what their events say/);
    host.timeMs += 60_000;
    await settleProjections(service);
    await holdRows(engine, test, streams);
  });
});

Deno.test("a deleted projection leaves nothing behind", async () => {
  await withShop(async ({ service, engine, tenants: { test }, write }) => {
    await write("order", uuid(1), placed(uuid(11)));
    await settleProjections(service);
    await write("order", uuid(1), placed(uuid(12)));
    valueOf(await service.projections.remove(test, "orders_seen"));
    await settleProjections(service);
    await write("order", uuid(1), placed(uuid(13)));
    const { number } = test;
    const ranges = [
      keys.projectionRows(number, 1, 1),
      keys.projectionSources(number, 1, 1),
      keys.projectionWorks(number, 1, 1),
      keys.projections(number),
      { begin: keys.logCursor(number), end: keyAfter(keys.logCursor(number)) },
      keys.projectionTenants(),
    ];
    for (const range of ranges) {
      assert.deepEqual(await engine.snapshot((tx) => tx.getRange(range)), []);
    }
  });
});

Deno.test("the same document again changes nothing, another one is built beside the one that is read", async () => {
  await withShop(async ({ service, engine, tenants: { test }, streams, write }) => {
    await write("order", uuid(1), placed(uuid(11)));
    await settleProjections(service);
    const again = valueOf(await service.projections.deploy(test, { ...ORDERS_SEEN }));
    assert.equal(again.isNew, false);
    const definition = { ...ORDERS_SEEN, select: { who: "$.order.customer" } };
    valueOf(await service.projections.deploy(test, definition));
    await write("order", uuid(1), placed(uuid(12)));
    await service.projections.keepProjections(100);
    await holdRows(engine, test, streams);
    const [status] = valueOf(await service.projections.list(test)).data;
    assert.deepEqual([status?.state, status?.version, status?.building?.version], ["ready", 1, 2]);
    await settleProjections(service);
    await holdRows(engine, test, streams, { definition });
  });
});

/** Many writes to the same few aggregates, in a different order in each run. */
function busyEvents(run: number): [type: string, id: string, event: ShopEvent][] {
  return Array.from({ length: 60 }, (_, n): [string, string, ShopEvent] => {
    const turn = (n * 7 + run * 13) % 60;
    if (turn % 3 === 0) return ["order", uuid(turn % 4), placed(uuid(11 + turn % 3))];
    if (turn % 10 === 1) {
      return ["settings", "main", { type: "was_set", data: { currency: `C${turn}` } }];
    }
    return ["customer", uuid(11 + turn % 3), named(`name ${turn}`, uuid(11 + turn % 2))];
  });
}

async function keepAtOnce(services: readonly Service[]): Promise<void> {
  await Promise.all(services.flatMap(({ projections }) => [
    projections.keepProjections(5),
    projections.keepProjections(5),
    projections.buildProjections(),
  ]));
}

for (const { name, open } of NODE_STORES) {
  Deno.test(`two nodes that keep the same views at once, beside writers, keep them right (${name})`, async () => {
    for (let run = 0; run < 5; run++) {
      await withTwoNodes(open, async ({ a, b, tenants: { test }, pass }) => {
        const spec = shopSpec();
        valueOf(await a.service.specs.deploySpec(test, { spec, force: true, dryRun: false }));
        valueOf(await a.service.projections.deploy(test, ORDERS_SEEN));
        const streams: ShopStreams = new Map();
        const services = [a.service, b.service];
        for (const [at, [type, id, event]] of busyEvents(run).entries()) {
          pass(400);
          const keeping = at % 4 === 0 ? keepAtOnce(services) : undefined;
          const writer = services[at % 2]!;
          await writeShop(writer, test, {
            streams,
            stream: [type, id],
            event,
            nowMs: a.host.timeMs,
          });
          await keeping;
        }
        for (let round = 0; round < 10; round++) {
          pass(2_000);
          for (const service of services) await settleProjections(service);
        }
        await holdRows(a.engine, test, streams);
      });
    }
  });
}
