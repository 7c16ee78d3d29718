/** Projections as operators and clients see them. */

import assert from "node:assert/strict";
import { settleViews } from "../support/settle_views.ts";
import { uuid } from "../support/service_fixture.ts";
import { shopSpec } from "../support/view_shop.ts";
import { START, withWorld, type World } from "./world.ts";

const METADATA = { actor: { type: "user", id: "global" } };
const ORDERS = {
  name: "orders_seen",
  for_each: "order",
  sources: { order: "$key", customer: { type: "customer", id: "$.order.customer" } },
  select: {
    customer: { path: "$.customer.name", type: "string" },
    total: { $sum: "$.order.lines[*].price" },
    lines: "$.order.lines",
  },
};

function withShop(body: (world: World) => Promise<void>): Promise<void> {
  return withWorld(body, { spec: shopSpec() });
}

async function write({ send }: World, path: string, data: unknown): Promise<void> {
  const answer = await send("POST", path, { body: { data, metadata: METADATA } });
  assert.equal(answer.status, 201, answer.text);
}

function deploy({ send, instanceId }: World, projection: unknown, environment = "test") {
  const body = { environment, projection };
  return send("POST", `/api/instances/${instanceId}/projections`, { body });
}

async function furnish(world: World): Promise<void> {
  assert.equal((await deploy(world, ORDERS)).status, 201);
  await write(world, `/customer/${uuid(11)}/was_registered`, { name: 'Ada "A", Countess' });
  const lines = [{ price: 2.5 }, { price: 4 }];
  await write(world, `/order/${uuid(1)}/was_placed`, { customer: uuid(11), lines });
  await write(world, `/order/${uuid(2)}/was_placed`, { customer: "=1+1" });
  await settleViews(world.service);
}

Deno.test("a deployed projection is shown with its state, columns and lag, and deployed once", async () => {
  await withShop(async (world) => {
    const { send, service, instanceId } = world;
    const made = await deploy(world, ORDERS);
    assert.equal(made.status, 201);
    const { deployed_at, ...first } = made.body.projection;
    assert.match(deployed_at, /^2026-01-01T/);
    assert.deepEqual(first, {
      name: "orders_seen",
      state: "building",
      version: null,
      columns: [
        { name: "customer", type: "string" },
        { name: "total", type: "number" },
        { name: "lines", type: "any" },
      ],
      building: { version: 1, rows: 0, started_at: "2026-01-01T00:00:00.000Z" },
      lag: 0,
      failed_rows: 0,
      last_error: null,
      projection: ORDERS,
    });
    const early = await send("GET", "/_projections/orders_seen");
    assert.equal(early.status, 404);
    assert.match(early.body.hint, /being built/);
    await settleViews(service);
    await write(world, `/order/${uuid(1)}/was_placed`, {});
    const again = await deploy(world, ORDERS);
    assert.equal(again.status, 200);
    const { state, version, lag, building } = again.body.projection;
    assert.deepEqual([state, version, lag, building], ["ready", 1, 1, undefined]);
    const list = await send("GET", `/api/instances/${instanceId}/projections?environment=test`);
    assert.deepEqual(list.body.data, [again.body.projection]);
    const other = await send("GET", `/api/instances/${instanceId}/projections?environment=staging`);
    assert.deepEqual(other.body.data, []);
  });
});

Deno.test("a projection of a type that the spec does not have is refused with all its faults", async () => {
  await withShop(async (world) => {
    const { status, body } = await deploy(world, { ...ORDERS, for_each: "ordr", name: "x y" });
    assert.equal(status, 422);
    assert.equal(body.error_type, "spec_invalid");
    assert.equal(body.path, "name");
    assert.deepEqual(
      body.violations.map(({ rule, path }: { rule: string; path: string }) => [rule, path]),
      [["invalid_name", "name"], ["aggregate_type_unknown", "for_each"]],
    );
    assert.equal(body.violations[1].hint, 'Did you mean "order"?');
  });
});

Deno.test("a row has its data and where it comes from, kept or computed now", async () => {
  await withShop(async (world) => {
    const { send, host } = world;
    await furnish(world);
    const path = `/_projections/orders_seen/${uuid(1)}`;
    const row = {
      ok: true,
      data: { customer: 'Ada "A", Countess', total: 6.5, lines: [{ price: 2.5 }, { price: 4 }] },
      metadata: { key: uuid(1), updated_at: START, position: 1 },
    };
    assert.deepEqual((await send("GET", path)).body, row);
    host.timeMs += 5_000;
    await write(world, `/order/${uuid(1)}/had_line_added`, { line: { price: 1 } });
    assert.deepEqual((await send("GET", path)).body, row, "the view has not been told yet");
    const { body } = await send("GET", `${path}?synchronous=true`);
    assert.equal(body.data.total, 7.5);
    assert.deepEqual(body.metadata, { key: uuid(1), updated_at: START + 5, position: 2 });
    assert.equal(
      (await send("GET", `/_projections/orders_seen/${uuid(1).toUpperCase()}`)).status,
      200,
    );
    const missing = [`/_projections/orders_seen/${uuid(9)}`, `/_projections/none/${uuid(1)}`];
    for (const each of missing) {
      assert.equal((await send("GET", each)).status, 404);
      assert.equal((await send("GET", `${each}?synchronous=true`)).status, 404);
    }
    const malformed = await send("GET", "/_projections/orders_seen/short");
    assert.deepEqual([malformed.status, malformed.body.path], [422, "key"]);
    assert.equal((await send("GET", `${path}?synchronous=maybe`)).status, 400);
  });
});

Deno.test("rows are listed by key, a page at a time, also of a projection called query", async () => {
  await withShop(async (world) => {
    const { send } = world;
    await furnish(world);
    assert.equal((await deploy(world, { ...ORDERS, name: "query" })).status, 201);
    await settleViews(world.service);
    for (const name of ["orders_seen", "query"]) {
      const first = (await send("GET", `/_projections/${name}?limit=1`)).body;
      assert.deepEqual([first.limit, first.truncated, first.next_start], [1, true, uuid(1)]);
      assert.equal(first.data[0].metadata.key, uuid(1));
      const second = (await send("GET", `/_projections/${name}?limit=1&start=${uuid(1)}`)).body;
      assert.deepEqual([second.truncated, second.next_start], [false, undefined]);
      assert.deepEqual(second.data[0].data, { customer: null, total: 0, lines: null });
    }
  });
});

Deno.test("an export has a header row and all rows as CSV, or the columns that are asked for", async () => {
  await withShop(async (world) => {
    const { send } = world;
    await furnish(world);
    const path = "/_projections/orders_seen/export.csv";
    const whole = await send("GET", path);
    assert.equal(whole.status, 200);
    assert.equal(whole.headers.get("content-type"), "text/csv; charset=utf-8; header=present");
    assert.equal(whole.headers.has("x-svc-projection-lag"), false);
    assert.equal(
      whole.text,
      "key,customer,total,lines\r\n" +
        `${uuid(1)},"Ada ""A"", Countess",6.5,"[{""price"":2.5},{""price"":4}]"\r\n` +
        `${uuid(2)},,0,\r\n`,
    );
    const some = await send("GET", `${path}?columns=total,key,customer`);
    assert.match(some.text, /^key,total,customer\r\n/);
    const unknown = await send("GET", `${path}?columns=totl`);
    assert.deepEqual([unknown.status, unknown.body.path], [400, "columns"]);
    assert.match(unknown.body.error, /Did you mean "total"/);
    const head = await send("HEAD", path);
    assert.deepEqual([head.status, head.text], [200, ""]);
  });
});

Deno.test("an export that cannot wait for the latest writes says how many it lacks", async () => {
  await withShop(async (world) => {
    const { send, host } = world;
    await furnish(world);
    await write(world, `/order/${uuid(1)}/had_line_added`, { line: { price: 1 } });
    const asked = send("GET", "/_projections/orders_seen/export.csv?columns=total");
    let isAnswered = false;
    const note = () => isAnswered = true;
    asked.then(note, note);
    // A cluster takes its time until the export waits at all; the clock goes on until it has.
    while (!isAnswered) {
      host.timeMs += 100;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    const { headers, text } = await asked;
    assert.equal(headers.get("x-svc-projection-lag"), "1");
    assert.equal(text, `key,total\r\n${uuid(1)},6.5\r\n${uuid(2)},0\r\n`);
    await settleViews(world.service);
    const after = await send("GET", "/_projections/orders_seen/export.csv?columns=total");
    assert.equal(after.headers.has("x-svc-projection-lag"), false);
    assert.match(after.text, new RegExp(`${uuid(1)},7.5\r\n`));
  });
});

Deno.test("a deleted projection is gone at once, and its name is free", async () => {
  await withShop(async (world) => {
    const { send, instanceId } = world;
    await furnish(world);
    const path = `/api/instances/${instanceId}/projections/orders_seen?environment=test`;
    assert.equal((await send("DELETE", path)).status, 200);
    assert.equal((await send("DELETE", path)).status, 404);
    assert.equal((await send("GET", "/_projections/orders_seen")).status, 404);
    assert.equal((await deploy(world, { ...ORDERS, select: { only: "$.key" } })).status, 201);
    await settleViews(world.service);
    const { body } = await send("GET", "/_projections/orders_seen");
    assert.deepEqual(body.data[0].data, { only: uuid(1) });
  });
});
