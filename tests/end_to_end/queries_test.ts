/**
 * SQL over projections on the wire: statuses, bodies, headers, who may ask, how it is counted.
 */

import assert from "node:assert/strict";
import { uuid } from "../support/service_fixture.ts";
import { settleProjections } from "../support/settle_projections.ts";
import { ORDER_SPEC, ORDERS } from "../support/projection_queries.ts";
import { withWorld, type World } from "./world.ts";

const METADATA = { actor: { type: "user", id: "global" } };
const PATH = "/_projections/query";

async function withOrders(body: (world: World) => Promise<void>): Promise<void> {
  await withWorld(async (world) => {
    const { send, instanceId, service } = world;
    const deploy = { environment: "test", projection: ORDERS };
    const path = `/api/instances/${instanceId}/projections`;
    assert.equal((await send("POST", path, { body: deploy })).status, 201);
    for (const number of [1, 2]) {
      const data = { status: "open", total: number + 0.5, tags: [number] };
      const write = { body: { data, metadata: METADATA } };
      assert.equal((await send("POST", `/order/${uuid(number)}/was_set`, write)).status, 201);
    }
    await settleProjections(service);
    await body(world);
  }, { spec: ORDER_SPEC });
}

Deno.test("a query is answered with its columns, its rows by column name, and their count", async () => {
  await withOrders(async ({ send }) => {
    const sql = "SELECT key, total, tags FROM orders WHERE total > ? ORDER BY total DESC";
    const answer = await send("POST", PATH, { body: { sql, params: [1] } });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(
      answer.text,
      '{"ok":true,"columns":["key","total","tags"],"rows":[' +
        `{"key":"${uuid(2)}","total":2.5,"tags":"[2]"},` +
        `{"key":"${uuid(1)}","total":1.5,"tags":"[1]"}],"row_count":2,"truncated":false}`,
    );
    assert.equal(answer.headers.get("x-svc-projection-lag"), null);
    const named = { sql: "SELECT count(*) AS n FROM orders WHERE total = :t", params: { t: 1.5 } };
    assert.deepEqual((await send("POST", PATH, { body: named })).body.rows, [{ n: 1 }]);
  });
});

Deno.test("a query at fault is 422 with the reason, a body at fault 400 with the path", async () => {
  await withOrders(async ({ send }) => {
    const refused = await send("POST", PATH, { body: { sql: "DELETE FROM orders" } });
    assert.equal(refused.status, 422);
    assert.equal(refused.body.error_type, "sql_not_allowed");
    assert.match(refused.body.error, /^A query is one SELECT/);
    const faults: [unknown, string | undefined][] = [
      [{}, "sql"],
      [{ sql: 1 }, "sql"],
      [{ sql: "SELECT 1", params: "x" }, "params"],
      [{ sql: "SELECT ?", params: [[1]] }, "params.0"],
      [{ sql: "SELECT :a", params: { a: {} } }, "params.a"],
      [{ sql: "SELECT 1", more: 1 }, "more"],
    ];
    for (const [body, path] of faults) {
      const answer = await send("POST", PATH, { body });
      assert.equal(answer.status, 400, answer.text);
      assert.equal(answer.body.path, path, answer.text);
    }
  });
});

Deno.test("a query takes a read key and counts as a read; other methods are named", async () => {
  await withOrders(async ({ send, keys, service }) => {
    const body = { sql: "SELECT 1 AS one" };
    assert.equal((await send("POST", PATH, { body, token: keys.test.read })).status, 200);
    assert.equal((await send("POST", PATH, { body, token: null })).status, 401);
    const put = await send("PUT", PATH, { body });
    assert.equal(put.status, 405);
    assert.equal(put.headers.get("allow"), "GET, POST");
    assert.equal(service.operations.counters.queries.get("ok"), 1);
  });
});

Deno.test("each environment sees its own tables", async () => {
  await withOrders(async ({ send }) => {
    const body = { sql: "SELECT count(*) AS n FROM orders" };
    assert.deepEqual((await send("POST", PATH, { body })).body.rows, [{ n: 2 }]);
    const other = await send("POST", PATH, { body, environment: "staging" });
    assert.equal(other.status, 422);
    assert.match(other.body.error, /no such table: orders/);
  });
});

Deno.test("where the copy cannot be kept the answer is 503 with Retry-After and an error record", async () => {
  await withOrders(async ({ send, copiesFolder }) => {
    Deno.writeTextFileSync(copiesFolder, "a file is in the way");
    const answer = await send("POST", PATH, { body: { sql: "SELECT count(*) AS n FROM orders" } });
    assert.equal(answer.status, 503, answer.text);
    assert.equal(answer.body.error_type, "unavailable");
    assert.equal(answer.headers.get("retry-after"), "1");
    assert.equal(answer.headers.get("x-error-id"), answer.body.error_id);
    assert.ok(!answer.text.includes(copiesFolder));
    const row = await send("GET", `/_projections/orders/${uuid(1)}`);
    assert.equal(row.status, 200, "nothing else is harmed");
  });
});
