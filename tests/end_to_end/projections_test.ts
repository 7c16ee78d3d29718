/** Projections as operators and clients see them. */

import assert from "node:assert/strict";
import { settleProjections } from "../support/settle_projections.ts";
import { uuid } from "../support/service_fixture.ts";
import { shopSpec } from "../support/projection_shop.ts";
import { type Answer, START, withWorld, type World } from "./world.ts";

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
  await settleProjections(world.service);
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
    await settleProjections(service);
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
    await settleProjections(world.service);
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

Deno.test("an export leaves formulas as they are, or marks them as texts where that is asked for", async () => {
  await withShop(async (world) => {
    const { send } = world;
    await furnish(world);
    await write(world, `/customer/${uuid(12)}/was_registered`, { name: "=HYPERLINK(0)" });
    await write(world, `/order/${uuid(3)}/was_placed`, { customer: uuid(12) });
    await settleProjections(world.service);
    const path = "/_projections/orders_seen/export.csv?columns=customer";
    const lineOf = (text: string) => text.split("\r\n").find((line) => line.startsWith(uuid(3)));
    assert.equal(lineOf((await send("GET", path)).text), `${uuid(3)},=HYPERLINK(0)`);
    const marked = await send("GET", `${path}&formulas=text`);
    assert.equal(lineOf(marked.text), `${uuid(3)},'=HYPERLINK(0)`);
    const unknown = await send("GET", `${path}&formulas=html`);
    assert.deepEqual([unknown.status, unknown.body.path], [400, "formulas"]);
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
    // On a cluster the export takes a while to start waiting; the clock moves until it is
    // answered.
    while (!isAnswered) {
      host.timeMs += 100;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    const { headers, text } = await asked;
    assert.equal(headers.get("x-svc-projection-lag"), "1");
    assert.equal(text, `key,total\r\n${uuid(1)},6.5\r\n${uuid(2)},0\r\n`);
    await settleProjections(world.service);
    const after = await send("GET", "/_projections/orders_seen/export.csv?columns=total");
    assert.equal(after.headers.has("x-svc-projection-lag"), false);
    assert.match(after.text, new RegExp(`${uuid(1)},7.5\r\n`));
  });
});

/**
 * Deploys the shop without a part that a projection reads; forced, because it breaks senders
 * too.
 */
async function deployWithout(world: World, part: "customer" | "main"): Promise<Answer> {
  const { send, instanceId } = world;
  const spec = shopSpec();
  if (part === "customer") delete (spec.aggregate_types as Record<string, unknown>).customer;
  else delete spec.singletons;
  const body = { environment: "test", force: true, spec };
  const answer = await send("POST", `/api/instances/${instanceId}/spec`, { body });
  assert.equal(answer.status, 200, answer.text);
  return answer;
}

async function statusOf({ send, instanceId }: World) {
  const list = await send("GET", `/api/instances/${instanceId}/projections?environment=test`);
  return list.body.data[0];
}

const SQL = { sql: "SELECT key, total FROM orders_seen ORDER BY key" };

Deno.test("every read of a projection that a deploy has broken is 503, with the reason and what to do", async () => {
  await withShop(async (world) => {
    const { send } = world;
    await furnish(world);
    const { warnings } = (await deployWithout(world, "customer")).body;
    assert.deepEqual(warnings.map(({ rule, path }: Answer["body"]) => [rule, path]), [
      ["projection_broken", "projections.orders_seen"],
    ]);
    await write(world, `/order/${uuid(1)}/had_line_added`, { line: { price: 1 } });
    await settleProjections(world.service);
    const reads = [
      ["GET", "/_projections/orders_seen"],
      ["GET", `/_projections/orders_seen/${uuid(1)}`],
      ["GET", `/_projections/orders_seen/${uuid(1)}?synchronous=true`],
      ["GET", "/_projections/orders_seen/export.csv"],
      ["GET", "/_projections/orders_seen?stale=false"],
      ["POST", "/_projections/query"],
    ] as const;
    for (const [method, path] of reads) {
      const answer = await send(method, path, method === "POST" ? { body: SQL } : {});
      assert.equal(answer.status, 503, `${path}: ${answer.text}`);
      assert.equal(answer.body.error_type, "projection_broken", path);
      assert.match(
        answer.body.error,
        /sources\.customer\.type: Aggregate type 'customer' not found/,
      );
      assert.match(answer.body.hint, /\?stale=true .*"stale": true/);
      assert.ok(answer.headers.get("x-error-id"), path);
    }
    const other = await send("POST", "/_projections/query", { body: { sql: "SELECT 1 AS a" } });
    assert.equal(other.status, 200, "a statement without the table is answered");
  });
});

Deno.test("who asks for stale rows gets the last good ones, and hears how much they lack", async () => {
  await withShop(async (world) => {
    const { send } = world;
    await furnish(world);
    await deployWithout(world, "customer");
    await settleProjections(world.service);
    const path = "/_projections/orders_seen";
    for (const lag of [0, 1, 2]) {
      assert.deepEqual([(await statusOf(world)).state, (await statusOf(world)).lag], [
        "broken",
        lag,
      ]);
      const row = await send("GET", `${path}/${uuid(1)}?stale=true`);
      assert.deepEqual([row.status, row.body.stale, row.body.data.total], [200, true, 6.5]);
      const page = await send("GET", `${path}?stale=true`);
      assert.deepEqual([page.status, page.body.stale, page.body.data.length], [200, true, 2]);
      const csv = await send("GET", `${path}/export.csv?columns=total&stale=true`);
      assert.deepEqual([csv.status, csv.text], [
        200,
        `key,total\r\n${uuid(1)},6.5\r\n${uuid(2)},0\r\n`,
      ]);
      const sql = await send("POST", "/_projections/query", { body: { ...SQL, stale: true } });
      assert.deepEqual([sql.status, sql.body.stale, sql.body.rows[0].total], [200, true, 6.5]);
      for (const { headers } of [row, page, csv, sql]) {
        assert.equal(headers.get("x-svc-projection-lag"), String(lag));
      }
      const now = await send("GET", `${path}/${uuid(1)}?stale=true&synchronous=true`);
      assert.equal(now.body.data.total, 6.5, "nothing can be computed");
      await write(world, `/order/${uuid(1)}/had_line_added`, { line: { price: 1 } });
      // Changes that the projection does not read do not count as missing.
      await write(world, `/product/${uuid(5)}/was_named`, { name: "Tea" });
      await settleProjections(world.service);
    }
    const bad = await send("GET", `${path}?stale=maybe`);
    assert.deepEqual([bad.status, bad.body.path], [400, "stale"]);
  });
});

Deno.test("a projection that a later deploy mends says what it lacks until it is built anew", async () => {
  await withShop(async (world) => {
    const { send, service, instanceId } = world;
    const included = { ...ORDERS, include: { config: "settings:main" } };
    assert.equal((await deploy(world, included)).status, 201);
    await write(world, `/order/${uuid(1)}/was_placed`, { lines: [{ price: 1 }] });
    await settleProjections(service);
    const { warnings } = (await deployWithout(world, "main")).body;
    assert.deepEqual(warnings.map(({ rule }: Answer["body"]) => rule), [
      "projection_broken",
      "singleton_removed",
    ]);
    await settleProjections(service);
    await write(world, `/order/${uuid(1)}/had_line_added`, { line: { price: 1 } });
    await settleProjections(service);
    assert.equal((await send("GET", `/_projections/orders_seen/${uuid(1)}`)).status, 503);
    const body = { environment: "test", spec: shopSpec() };
    assert.equal((await send("POST", `/api/instances/${instanceId}/spec`, { body })).status, 200);
    await service.projections.keepProjections(100);
    const row = await send("GET", `/_projections/orders_seen/${uuid(1)}`);
    assert.deepEqual([row.status, row.body.stale, row.body.data.total], [200, true, 1]);
    assert.equal(row.headers.get("x-svc-projection-lag"), "1");
    assert.deepEqual([(await statusOf(world)).state, (await statusOf(world)).lag], ["ready", 1]);
    await settleProjections(service);
    const built = await send("GET", `/_projections/orders_seen/${uuid(1)}?stale=true`);
    assert.deepEqual([built.body.stale, built.body.data.total], [undefined, 2]);
    assert.equal(built.headers.get("x-svc-projection-lag"), null);
    assert.equal((await statusOf(world)).lag, 0);
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
    await settleProjections(world.service);
    const { body } = await send("GET", "/_projections/orders_seen");
    assert.deepEqual(body.data[0].data, { only: uuid(1) });
  });
});
